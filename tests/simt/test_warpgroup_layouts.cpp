// wgmma: products against float64, for every layout of a matrix in shared memory.
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/warpgroup_tiles.hpp>
#include <support/arrays.hpp>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/wgmma.hpp>
#include <precast/tensor/view.hpp>

using namespace precast;
using namespace precast::gpu;
using namespace precast::testing;

namespace {

enum class Left { shared, registers };

struct ProductSizes {
  Layout a, b;
  bool accumulates;
};

/// One product of a warpgroup: D [64, 8 Tiles], A [64, 16] and B [8 Tiles, 16] by rows.
template <class T, bool Transposed, int Tiles, Left From>
PRECAST_KERNEL void one_product(GlobalPointer<const T> a, GlobalPointer<const T> b, GlobalPointer<f32> d,
                                ProductSizes sizes) {
  const auto barrier = static_shared<Mbarrier, 1, struct Begin>();
  if (thread_index() == 0) init_mbarrier(barrier, 1);  // from here on writes have writers
  sync_block();
  const std::size_t start = padding_to<1024>();
  const auto at_a = dynamic_shared<T>(start, sizes.a.bytes() / 2);
  const auto at_b = dynamic_shared<T>(start + 64 * 128, sizes.b.bytes() / 2);
  for (int i = thread_index(); i < 64 * depth; i += threads)
    at_a[sizes.a.place(i / depth, i % depth) / 2] = a[i];
  for (int i = thread_index(); i < 8 * Tiles * depth; i += threads)
    at_b[sizes.b.place(i / depth, i % depth) / 2] = b[i];
  fence_async_proxy();
  sync_block();
  const SmemDescriptor ma =
      smem_descriptor(shared_address(at_a), sizes.a.swizzle, sizes.a.leading(), sizes.a.stride());
  const SmemDescriptor mb =
      smem_descriptor(shared_address(at_b), sizes.b.swizzle, sizes.b.leading(), sizes.b.stride());
  const int row = warp_index() * 16 + lane_index() / 4, column = lane_index() % 4 * 2;
  AccumulatorFragment sums[Tiles];
  for (int j = 0; j < Tiles; ++j)
    for (int i = 0; i < 4; ++i) sums[j].values[i] = d[(row + i / 2 * 8) * 8 * Tiles + 8 * j + column + i % 2];
  const auto pair = [&](int r, int k) {
    return pack_pair(a[(row + r) * depth + column + k], a[(row + r) * depth + column + k + 1]);
  };
  Fragment<4> fa[1] = {{{pair(0, 0), pair(8, 0), pair(0, 8), pair(8, 8)}}};
  wgmma_fence(sums, fa);
  if constexpr (From == Left::shared)
    wgmma<T, Transposed>(sums, ma, mb, sizes.accumulates);
  else
    wgmma<T, Transposed>(sums, fa[0], mb, sizes.accumulates);
  wgmma_commit();
  wgmma_wait<0>(sums);
  for (int j = 0; j < Tiles; ++j)
    for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * 8 * Tiles + 8 * j + column + i % 2] = sums[j].values[i];
}

/// The largest error of a product, as a multiple of what tensor cores may do.
template <class T, bool Transposed, int Tiles, Left From>
double error_of(Swizzle of_a, Swizzle of_b, bool accumulates) {
  constexpr int columns = 8 * Tiles;
  const auto a = random_tensor<T>(Shape{64, depth}, 1, 1), b = random_tensor<T>(Shape{columns, depth}, 2, 1);
  auto d = random_tensor<f32>(Shape{64, columns}, 3, 1);
  const std::vector<double> before = wide(d);
  const ProductSizes sizes{{of_a, false, 64}, {of_b, Transposed, columns}, accumulates};
  launch("one_product", one_product<T, Transposed, Tiles, From>,
         {{}, threads, static_cast<std::size_t>(1024 + 64 * 128 + sizes.b.bytes())}, {},
         GlobalPointer<const T>(global_pointer(a.data(), a.elements())),
         GlobalPointer<const T>(global_pointer(b.data(), b.elements())),
         global_pointer(d.data(), d.elements()), sizes);
  double largest = 0;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < columns; ++column) {
      double exact = accumulates ? before[static_cast<std::size_t>(row * columns + column)] : 0;
      double size = std::abs(exact);
      for (int k = 0; k < depth; ++k) {
        const double product = to_double(a.data()[row * depth + k]) * to_double(b.data()[column * depth + k]);
        exact += product;
        size += std::abs(product);
      }
      // Each of two groups cuts its terms off 24 bits behind the largest, and its sum at f32's last bit.
      const double off =
          std::abs(d.data()[row * columns + column] - exact) / std::ldexp(size, -24) / (2 * 11);
      largest = off <= largest ? largest : off;  // a NaN stays
    }
  return largest;
}

template <class T, bool Transposed, int Tiles>
void check_products() {
  for (const Swizzle of_b :
       {Swizzle::none, Swizzle::of_32_bytes, Swizzle::of_64_bytes, Swizzle::of_128_bytes}) {
    CHECK(error_of<T, Transposed, Tiles, Left::registers>(Swizzle::none, of_b, true) <= 1);
    for (const Swizzle of_a :
         {Swizzle::none, Swizzle::of_32_bytes, Swizzle::of_64_bytes, Swizzle::of_128_bytes})
      CHECK(error_of<T, Transposed, Tiles, Left::shared>(of_a, of_b, of_a == of_b) <= 1);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("wgmma: products of matrices in every layout", "", bf16, f16) {
  check_products<TestType, false, 8>();
  check_products<TestType, true, 8>();
  check_products<TestType, false, 16>();
  check_products<TestType, true, 16>();
}

namespace {

/// The PTX ISA's worked examples of rows across the depth ("Canonical Layouts", for bf16), whose strides are
/// not those of the tiles above: W chunks of 16 bytes in a row, two patterns of columns, two of depth.
template <int Columns, int W>
PRECAST_KERNEL void worked_example(GlobalPointer<const bf16> a, GlobalPointer<const bf16> b,
                                   GlobalPointer<f32> d, int pattern_of_columns, int pattern_of_depth,
                                   SmemDescriptor unplaced) {
  constexpr int turn = W - 1;
  const auto values = tile_at(0);
  for (int i = thread_index(); i < Columns * depth; i += threads) {
    const int column = i / depth, k = i % depth;
    const int place =
        column % (8 * W) + column / (8 * W) * pattern_of_columns + k % 8 * 8 * W + k / 8 * pattern_of_depth;
    values[(2 * place ^ (2 * place / 128 & turn) * 16) / 2] = b[i];
  }
  fence_async_proxy();
  sync_block();
  const int row = warp_index() * 16 + lane_index() / 4, first = lane_index() % 4 * 2;
  const auto pair = [&](int r, int k) {
    return pack_pair(a[(row + r) * depth + first + k], a[(row + r) * depth + first + k + 1]);
  };
  Fragment<4> factors[1] = {{{pair(0, 0), pair(8, 0), pair(0, 8), pair(8, 8)}}};
  AccumulatorFragment sums[Columns / 8];
  wgmma_fence(sums, factors);
  const std::uint64_t placed = unplaced.bits | shared_address(values) >> 4;
  simt::wgmma<bf16, Columns, true>(sums[0].values, factors[0].words, placed, false);
  wgmma_commit();
  wgmma_wait<0>(sums);
  for (int j = 0; j < Columns / 8; ++j)
    for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * Columns + 8 * j + first + i % 2] = sums[j].values[i];
}

/// Whether a worked example gives the products; `leading` and `stride` as the ISA encodes them.
template <int Columns, int W>
bool agrees(int pattern_of_columns, int pattern_of_depth, std::uint64_t leading, std::uint64_t stride,
            std::uint64_t swizzle) {
  const auto a = random_tensor<bf16>(Shape{64, depth}, 1, 1),
             b = random_tensor<bf16>(Shape{Columns, depth}, 2, 1);
  HostTensor<f32> d(Shape{64, Columns});
  launch("worked_example", worked_example<Columns, W>, {{}, threads, tiles_bytes}, {},
         GlobalPointer<const bf16>(global_pointer(a.data(), a.elements())),
         GlobalPointer<const bf16>(global_pointer(b.data(), b.elements())),
         global_pointer(d.data(), d.elements()), pattern_of_columns, pattern_of_depth,
         SmemDescriptor{leading << 16 | stride << 32 | swizzle << 62});
  for (int i = 0; i < 64 * Columns; ++i) {
    double exact = 0, size = 0;
    for (int k = 0; k < depth; ++k) {
      const double product =
          to_double(a.data()[i / Columns * depth + k]) * to_double(b.data()[i % Columns * depth + k]);
      exact += product;
      size += std::abs(product);
    }
    if (!(std::abs(d.data()[i] - exact) <= 2 * 11 * std::ldexp(size, -24))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("wgmma: the worked examples of the PTX ISA") {
  CHECK(agrees<16, 1>(64, 128, 16, 8, 0));
  CHECK(agrees<32, 2>(128, 256, 16, 32, 3));
  CHECK(agrees<64, 4>(256, 512, 32, 64, 2));
  CHECK(!agrees<32, 2>(128, 256, 32, 16, 3));
}
