// The emulator and our descriptors against CuTe's own traits. CuTe has run on real devices; what both of us
// read in the PTX ISA is only tested here by someone else's reading.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cute/atom/copy_traits_sm75.hpp>
#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm89.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
#include <cute/tensor.hpp>
#include <simt/warpgroup_tiles.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/smem_descriptor.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/wgmma.hpp>

using namespace precast;
using namespace precast::gpu;
namespace gmma = cute::SM90::GMMA;

namespace {

/// A small integer, exact in every dtype, and the same in no two places that a mistake would exchange often.
int entry(int row, int column) { return (row * 7 + column * 3 + row * column) % 7 - 3; }

template <class T>
GlobalPointer<T> pointer_to(std::vector<T>& values) {
  return global_pointer(values.data(), static_cast<std::int64_t>(values.size()));
}

PRECAST_KERNEL void keep_rows(GlobalPointer<const std::uint16_t> from, GlobalPointer<std::uint32_t> to,
                              bool turned) {
  const auto rows = static_shared<bf16, 32 * 8, struct Rows>();
  for (int i = 0; i < 8; ++i) rows[lane_index() * 8 + i] = std::bit_cast<bf16>(from[lane_index() * 8 + i]);
  sync_block();
  const auto row = rows + lane_index() * 8;
  const Fragment<4> loaded = turned ? ldmatrix<4, true>(row) : ldmatrix<4>(row);
  for (int w = 0; w < 4; ++w) to[lane_index() * 4 + w] = loaded.words[w];
}

/// Whether ldmatrix moves the bits that a copy of CuTe's moves. Values are their own places.
template <class Copy>
bool loads_alike(bool turned) {
  using Traits = cute::Copy_Traits<Copy>;
  std::vector<std::uint16_t> values(32 * 8);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint32_t> words(32 * 4);
  launch("keep_rows", keep_rows, {{1, 1, 1}, 32, 0}, {},
         GlobalPointer<const std::uint16_t>(pointer_to(values)), pointer_to(words), turned);
  std::array<int, 32 * 8> sent{};  // by the bit that it is to CuTe, the place that a lane's row brings
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 8; ++i)
      sent[static_cast<std::size_t>(typename Traits::SrcLayout{}(lane, 16 * i)) / 16] = 8 * lane + i;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 8; ++i) {
      const int bit = typename Traits::DstLayout{}(lane, 16 * i);
      const auto word = words[static_cast<std::size_t>(4 * lane + i / 2)];
      if (static_cast<int>(word >> 16 * (i % 2) & 0xffff) != sent[static_cast<std::size_t>(bit / 16)])
        return false;
    }
  return true;
}

template <class T>
PRECAST_KERNEL void keep_product(GlobalPointer<const std::uint32_t> a, GlobalPointer<const std::uint32_t> b,
                                 GlobalPointer<f32> to) {
  Fragment<4> fa;
  Fragment<2> fb;
  for (int w = 0; w < 4; ++w) fa.words[w] = a[lane_index() * 4 + w];
  for (int w = 0; w < 2; ++w) fb.words[w] = b[lane_index() * 2 + w];
  AccumulatorFragment sums;
  mma_sync<T>(sums, fa, fb);
  for (int i = 0; i < 4; ++i) to[lane_index() * 4 + i] = sums.values[i];
}

/// The registers of `threads` threads that hold a matrix [Rows, depth] of entries, by a layout of CuTe's.
template <class Stored, int Rows, class Layout>
std::vector<std::uint32_t> registers_of(Layout layout, int first_row) {
  constexpr int threads = cute::size<0>(Layout{}), values = cute::size<1>(Layout{});
  std::vector<std::uint32_t> words(static_cast<std::size_t>(threads * values) * sizeof(Stored) / 4);
  for (int t = 0; t < threads; ++t)
    for (int v = 0; v < values; ++v) {
      const int place = layout(t, v);
      const auto value = from_double<Stored>(entry(first_row + place % Rows, place / Rows));
      std::memcpy(reinterpret_cast<std::byte*>(words.data()) +
                      static_cast<std::size_t>(t * values + v) * sizeof(Stored),
                  &value, sizeof value);
    }
  return words;
}

constexpr int other = 100;  // where the entries of B's rows begin

double sum_of(int row, int column, int depth) {
  double sum = 0;
  for (int k = 0; k < depth; ++k) sum += entry(row, k) * entry(other + column, k);
  return sum;
}

/// Whether mma.sync multiplies fragments as CuTe deals them out.
template <class T, class Stored, class Operation>
bool multiplies_alike() {
  using Traits = cute::MMA_Traits<Operation>;
  constexpr int depth = cute::size<2>(typename Traits::Shape_MNK{});
  static_assert(depth == product_depth<T>);
  auto a = registers_of<Stored, 16>(typename Traits::ALayout{}, 0),
       b = registers_of<Stored, 8>(typename Traits::BLayout{}, other);
  std::vector<f32> sums(32 * 4);
  launch("keep_product", keep_product<T>, {{1, 1, 1}, 32, 0}, {},
         GlobalPointer<const std::uint32_t>(pointer_to(a)), GlobalPointer<const std::uint32_t>(pointer_to(b)),
         pointer_to(sums));
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int place = typename Traits::CLayout{}(lane, i);
      if (sums[static_cast<std::size_t>(4 * lane + i)] != sum_of(place % 16, place / 16, depth)) return false;
    }
  return true;
}

/// A product of a warpgroup, A in registers: B's values lie where `places` says from the start of a tile.
template <bool Transposed>
PRECAST_KERNEL void keep_group_product(GlobalPointer<const std::uint32_t> a, GlobalPointer<const int> places,
                                       GlobalPointer<const bf16> b, GlobalPointer<f32> to,
                                       SmemDescriptor unplaced) {
  const auto values = testing::tile_at(0);
  for (int i = thread_index(); i < 64 * 16; i += 128) values[places[i]] = b[i];
  fence_async_proxy();
  sync_block();
  Fragment<4> factors[1];
  for (int w = 0; w < 4; ++w) factors[0].words[w] = a[thread_index() * 4 + w];
  AccumulatorFragment sums[8];
  wgmma_fence(sums, factors);
  simt::wgmma<bf16, 64, Transposed>(sums[0].values, factors[0].words,
                                    unplaced.bits + (shared_address(values) >> 4), false);
  wgmma_commit();
  wgmma_wait<0>(sums);
  for (int v = 0; v < 32; ++v) to[thread_index() * 32 + v] = sums[v / 4].values[v % 4];
}

/// CuTe's descriptor of a tile [64, 16] of a layout, at address 0.
template <gmma::Major Major, class Layout>
std::uint64_t descriptor_of(Layout layout) {
  auto* const nowhere = static_cast<cute::bfloat16_t*>(nullptr);
  const auto whole = cute::make_tensor(cute::make_smem_ptr(nowhere), layout);
  const auto tile = cute::local_tile(whole, cute::make_shape(cute::size<0>(layout), cute::Int<16>{}),
                                     cute::make_coord(0, 0));
  return static_cast<std::uint64_t>(gmma::make_gmma_desc<Major>(tile));
}

/// Whether wgmma multiplies what lies in shared memory by a layout of CuTe's and its descriptor, with
/// registers as CuTe deals them out. `step`: the first 16 of depth, or the second.
template <gmma::Major Major, class Atom>
bool multiplies_group_alike(Atom atom, int step) {
  const auto layout = cute::tile_to_shape(atom, cute::make_shape(cute::Int<64>{}, cute::Int<64>{}));
  const auto place_in_tile = cute::as_position_independent_swizzle_layout(layout);
  std::vector<int> places(64 * 16);
  std::vector<bf16> b(64 * 16);
  for (int n = 0; n < 64; ++n)
    for (int k = 0; k < 16; ++k) {
      const auto i = static_cast<std::size_t>(n * 16 + k);
      places[i] = static_cast<int>(place_in_tile(n, 16 * step + k));
      b[i] = from_double<bf16>(entry(other + n, k));
    }
  auto a = registers_of<bf16, 64>(gmma::ALayout_64x16{}, 0);
  std::vector<f32> sums(128 * 32);
  // The first row lies unpermuted, so that its place is that of the tile.
  const SmemDescriptor unplaced{descriptor_of<Major>(layout) +
                                static_cast<std::uint64_t>(place_in_tile(0, 16 * step) * 2 / 16)};
  launch("keep_group_product", keep_group_product<Major == gmma::Major::MN>, {{}, 128, testing::tiles_bytes},
         {}, GlobalPointer<const std::uint32_t>(pointer_to(a)), GlobalPointer<const int>(pointer_to(places)),
         GlobalPointer<const bf16>(pointer_to(b)), pointer_to(sums), unplaced);
  for (int t = 0; t < 128; ++t)
    for (int v = 0; v < 32; ++v) {
      const int place = gmma::CLayout_64x64{}(t, v);
      if (sums[static_cast<std::size_t>(32 * t + v)] != sum_of(place % 64, place / 64, 16)) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("ldmatrix loads what CuTe's does", "[cute]") {
  CHECK(loads_alike<cute::SM75_U32x4_LDSM_N>(false));
  CHECK(loads_alike<cute::SM75_U16x8_LDSM_T>(true));
  CHECK(!loads_alike<cute::SM75_U32x4_LDSM_N>(true));
}

TEST_CASE("mma.sync multiplies fragments as CuTe deals them out", "[cute]") {
  CHECK(multiplies_alike<bf16, bf16, cute::SM80_16x8x16_F32BF16BF16F32_TN>());
  CHECK(multiplies_alike<f16, f16, cute::SM80_16x8x16_F32F16F16F32_TN>());
  CHECK(multiplies_alike<tf32, f32, cute::SM80_16x8x8_F32TF32TF32F32_TN>());
  CHECK(multiplies_alike<fp8_e4m3, fp8_e4m3, cute::SM89_16x8x32_F32E4M3E4M3F32_TN>());
  CHECK(multiplies_alike<fp8_e5m2, fp8_e5m2, cute::SM89_16x8x32_F32E5M2E5M2F32_TN>());
}

TEST_CASE("chunks are permuted as CuTe permutes them", "[cute]") {
  for (std::uint32_t address = 0; address < 1 << 14; address += 16) {
    REQUIRE(simt::swizzled(Swizzle::none, address) == address);
    REQUIRE(simt::swizzled(Swizzle::of_32_bytes, address) == cute::Swizzle<1, 4, 3>{}(address));
    REQUIRE(simt::swizzled(Swizzle::of_64_bytes, address) == cute::Swizzle<2, 4, 3>{}(address));
    REQUIRE(simt::swizzled(Swizzle::of_128_bytes, address) == cute::Swizzle<3, 4, 3>{}(address));
  }
}

TEST_CASE("wgmma multiplies matrices that lie as CuTe lays them", "[cute]") {
  using Element = cute::bfloat16_t;
  using gmma::Major;
  for (const int step : {0, 1}) {
    CHECK(multiplies_group_alike<Major::K>(gmma::Layout_K_SW128_Atom<Element>{}, step));
    CHECK(multiplies_group_alike<Major::K>(gmma::Layout_K_SW64_Atom<Element>{}, step));
    CHECK(multiplies_group_alike<Major::MN>(gmma::Layout_MN_SW128_Atom<Element>{}, step));
    CHECK(multiplies_group_alike<Major::MN>(gmma::Layout_MN_SW64_Atom<Element>{}, step));
    CHECK(multiplies_group_alike<Major::MN>(gmma::Layout_MN_SW32_Atom<Element>{}, step));
  }
  CHECK(multiplies_group_alike<Major::K>(gmma::Layout_K_SW32_Atom<Element>{}, 0));
  CHECK(multiplies_group_alike<Major::K>(gmma::Layout_K_INTER_Atom<Element>{}, 0));
  CHECK(multiplies_group_alike<Major::MN>(gmma::Layout_MN_INTER_Atom<Element>{}, 0));
}

TEST_CASE("the warpgroup kernel's descriptors are CuTe's", "[cute]") {
  // PanelTile: panels of 64 columns, in each all rows of 128 bytes.
  using Element = cute::bfloat16_t;
  constexpr int rows = 128, panel_bytes = rows * 128, pattern_bytes = 8 * 128;
  const auto keys = cute::tile_to_shape(gmma::Layout_K_SW128_Atom<Element>{},
                                        cute::make_shape(cute::Int<rows>{}, cute::Int<128>{}));
  constexpr std::uint64_t leading = std::uint64_t{0x3fff}
                                    << 16;  // means nothing where rows lie along the depth
  CHECK((smem_descriptor(0, Swizzle::of_128_bytes, 0, pattern_bytes).bits & ~leading) ==
        (descriptor_of<gmma::Major::K>(keys) & ~leading));
  const auto values = cute::tile_to_shape(gmma::Layout_MN_SW128_Atom<Element>{},
                                          cute::make_shape(cute::Int<128>{}, cute::Int<rows>{}),
                                          cute::Step<cute::_2, cute::_1>{});
  CHECK(smem_descriptor(0, Swizzle::of_128_bytes, panel_bytes, pattern_bytes).bits ==
        descriptor_of<gmma::Major::MN>(values));
}
