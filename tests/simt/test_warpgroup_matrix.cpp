// wgmma: products against float64 for every layout of a matrix in shared memory, and what happens to those
// who do not wait, fence, or keep together.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <support/arrays.hpp>

#include <precast/cuda/device/barrier.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/shared.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/warpgroup_matrix.hpp>
#include <precast/tensor/view.hpp>

using namespace precast;
using namespace precast::cuda;
using namespace precast::testing;

namespace {

constexpr int depth = 16, threads = 128, a_bytes = 64 * depth * 2;

/// How a matrix of `outer` rows (of A, or columns of B) lies in shared memory: the PTX ISA's canonical
/// layouts, told in bytes.
struct Layout {
  Swizzle swizzle;
  bool across;  ///< rows lie across the depth
  int outer;

  /// Values of a row.
  int row() const { return swizzle_bytes(swizzle) / 2; }
  /// The place of value (o, k), permuted, from a start on a multiple of 1024 bytes.
  int place(int o, int k) const {
    const int along = across ? o : k, beside = across ? k : o;
    const int rows = across ? depth : outer;
    if (swizzle == Swizzle::none)  // blocks of eight rows of 16 bytes, side by side and then below each other
      return across ? (o / 8 * (depth / 8) + k / 8) * 128 + k % 8 * 16 + o % 8 * 2
                    : (o / 8 * (depth / 8) + k / 8) * 128 + o % 8 * 16 + k % 8 * 2;
    const int bytes = (along / row() * rows + beside) * row() * 2 + along % row() * 2;
    const int turn = swizzle == Swizzle::of_32_bytes ? 1 : swizzle == Swizzle::of_64_bytes ? 3 : 7;
    return bytes ^ (bytes / 128 & turn) * 16;
  }
  int leading() const {
    if (swizzle == Swizzle::none) return 128;
    return across ? depth * row() * 2 : 16;
  }
  int stride() const { return swizzle == Swizzle::none ? depth / 8 * 128 : 8 * row() * 2; }
  /// Bytes of the matrix: what 64 values of depth take, where a row is longer than the depth.
  int bytes() const {
    return across ? depth * std::max(outer, row()) * 2 : outer * std::max(depth, row()) * 2;
  }
};

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
  const SharedMatrix ma =
      shared_matrix(shared_address(at_a), sizes.a.swizzle, sizes.a.leading(), sizes.a.stride());
  const SharedMatrix mb =
      shared_matrix(shared_address(at_b), sizes.b.swizzle, sizes.b.leading(), sizes.b.stride());
  const int row = warp_index() * 16 + lane_index() / 4, column = lane_index() % 4 * 2;
  Sums sums[Tiles];
  for (int j = 0; j < Tiles; ++j)
    for (int i = 0; i < 4; ++i) sums[j].values[i] = d[(row + i / 2 * 8) * 8 * Tiles + 8 * j + column + i % 2];
  const auto pair = [&](int r, int k) {
    return pack_pair(a[(row + r) * depth + column + k], a[(row + r) * depth + column + k + 1]);
  };
  Fragment<4> fa[1] = {{{pair(0, 0), pair(8, 0), pair(0, 8), pair(8, 8)}}};
  fence_products(sums, fa);
  if constexpr (From == Left::shared)
    multiply_group<T, Transposed>(sums, ma, mb, sizes.accumulates);
  else
    multiply_group<T, Transposed>(sums, fa[0], mb, sizes.accumulates);
  commit_products();
  wait_products<0>(sums);
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

using Catch::Matchers::Contains;

constexpr int columns = 64, rounds = 3, tile = 64 * 64;

/// A tile of 64 x 64 values, swizzled rows of 128 bytes along the depth, from a multiple of 1024 bytes on.
SharedPointer<bf16> tile_at(int number) {
  return dynamic_shared<bf16>(padding_to<1024>() + static_cast<std::size_t>(number * tile * 2), tile);
}
SharedMatrix matrix_at(int number, int step) {
  return shared_matrix(shared_address(tile_at(number)) + static_cast<std::uint32_t>(step * 32),
                       Swizzle::of_128_bytes, 0, 1024);
}
constexpr std::size_t tiles_bytes = 1024 + 2 * tile * 2;

/// Sums up the products of `rounds` pairs of tiles, each written by the threads into the place of the one
/// before.
PRECAST_KERNEL void sum_products(GlobalPointer<const bf16> a, GlobalPointer<const bf16> b,
                                 GlobalPointer<f32> d) {
  const Layout layout{Swizzle::of_128_bytes, false, 64};
  Sums sums[8];
  for (int round = 0; round < rounds; ++round) {
    for (int i = thread_index(); i < tile; i += threads) {
      tile_at(0)[layout.place(i / 64, i % 64) / 2] = a[round * tile + i];
      tile_at(1)[layout.place(i / 64, i % 64) / 2] = b[round * tile + i];
    }
    fence_async_proxy();
    sync_block();
    fence_products(sums);
    for (int step = 0; step < 4; ++step)
      multiply_group<bf16, false>(sums, matrix_at(0, step), matrix_at(1, step), round + step > 0);
    commit_products();
    wait_products<0>(sums);
    sync_block();
  }
  const int row = warp_index() * 16 + lane_index() / 4, column = lane_index() % 4 * 2;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * columns + 8 * j + column + i % 2] = sums[j].values[i];
}

/// Runs statements of a block of `size` threads that use tiles full of zeros; what the emulator says of it.
template <class Kernel>
std::string error_in(int size, Kernel kernel) {
  try {
    launch("products", +kernel, {{}, size, tiles_bytes}, {});
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}
/// Zeros for the products to read.
void fill_tiles() {
  for (int i = thread_index(); i < tile; i += threads_in_block()) tile_at(0)[i] = tile_at(1)[i] = bf16{0};
  fence_async_proxy();
  sync_block();
}
void start_product(Sums (&sums)[8], int step = 0) {
  fence_products(sums);
  multiply_group<bf16, false>(sums, matrix_at(0, step), matrix_at(1, step), true);
  commit_products();
}

}  // namespace

TEST_CASE("wgmma: sums of products of tiles, of which every site is missed") {
  const auto a = random_tensor<bf16>(Shape{rounds, tile}, 1, 1),
             b = random_tensor<bf16>(Shape{rounds, tile}, 2, 1);
  std::vector<double> exact(tile), size(tile);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < tile; ++i)
      for (int k = 0; k < 64; ++k) {
        const double product = to_double(a.data()[round * tile + i / 64 * 64 + k]) *
                               to_double(b.data()[round * tile + i % 64 * 64 + k]);
        exact[static_cast<std::size_t>(i)] += product;
        size[static_cast<std::size_t>(i)] += std::abs(product);
      }
  const auto test = [&] {
    std::vector<f32> d(tile);
    launch("sum_products", sum_products, {{}, threads, tiles_bytes}, {},
           GlobalPointer<const bf16>(global_pointer(a.data(), a.elements())),
           GlobalPointer<const bf16>(global_pointer(b.data(), b.elements())), global_pointer(d.data(), tile));
    for (std::size_t i = 0; i < tile; ++i)  // as above, for the groups of 8 of a depth of 64 in each round
      if (!(std::abs(d[i] - exact[i]) <= rounds * 8 * 11 * std::ldexp(size[i], -24))) return false;
    return true;
  };
  const simt::Proof proof = simt::prove(test);
  CHECK(proof.alarms == std::vector<std::string>{});
  CHECK(proof.missed() == std::vector<std::string>{});
  if (!simt::watched_for_races()) CHECK(proof.verdicts.size() == 6);
}

TEST_CASE("wgmma: sums are not there before the wait, and what a thread writes not before its fence") {
  const auto kernel = +[](GlobalPointer<f32> to, bool all_fence) {
    const auto barrier = static_shared<Mbarrier, 1, struct Begin>();
    if (thread_index() == 0) init_mbarrier(barrier, 1);
    sync_block();
    for (int i = thread_index(); i < tile; i += threads) tile_at(0)[i] = tile_at(1)[i] = bf16{0};
    if (all_fence || thread_index() == 0) fence_async_proxy();
    sync_block();
    Sums sums[8];
    start_product(sums);
    if (thread_index() == 77) to[0] = sums[3].values[1];
    wait_products<0>(sums);
    if (thread_index() == 77) to[1] = sums[3].values[1];
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const simt::Session session({.seed = seed});
    f32 got[2] = {};
    launch("early", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got, 2), true);
    CHECK(std::isnan(got[0]));
    CHECK(got[1] == 0);
    launch("unfenced", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got, 2), false);
    CHECK(std::isnan(got[1]));
  }
}

TEST_CASE("wgmma: registers that a fence has not seen as they are are unknown to products") {
  const auto kernel = +[](GlobalPointer<f32> to, int change) {
    fill_tiles();
    Sums sums[8];
    Fragment<4> factors[2] = {};
    if (change == 0) fence_products(sums);
    if (change != 0) fence_products(sums, factors);
    if (change == 1) sums[7].values[3] = 1;
    if (change == 2) factors[1].words[2] = 1;
    multiply_group<bf16, false>(sums, factors[1], matrix_at(1, 0), true);
    commit_products();
    wait_products<0>(sums);
    to[thread_index()] = sums[5].values[0];
  };
  for (const int change : {0, 1, 2, 3}) {
    std::vector<f32> got(threads);
    launch("fences", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got.data(), threads), change);
    CHECK(std::isnan(got[9]) == (change != 3));
  }
}

TEST_CASE("wgmma: matrices in shared memory are read between the start and the wait") {
  const auto kernel = +[](GlobalPointer<f32> to) {
    fill_tiles();
    Sums sums[8];
    start_product(sums);
    for (int i = thread_index(); i < tile; i += threads) tile_at(0)[i] = tile_at(1)[i] = convert<bf16>(1.0f);
    fence_async_proxy();
    sync_block();
    wait_products<0>(sums);
    if (thread_index() == 0) to[0] = sums[0].values[0];
  };
  std::set<f32> results;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const simt::Session session({.seed = seed});
    f32 got = -1;
    launch("written over", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(&got, 1));
    results.insert(got);
  }
  CHECK(results == std::set<f32>{0, 16});  // before they are written over, and after
}

TEST_CASE("wgmma: groups of products are waited for in their order") {
  const auto kernel = +[](GlobalPointer<f32> to) {
    fill_tiles();
    Sums first[8], second[8];
    start_product(first);
    start_product(second, 1);
    wait_products<1>(first);
    if (thread_index() == 5) to[0] = first[0].values[0], to[1] = second[0].values[0];
    wait_products<0>(second);
    if (thread_index() == 5) to[2] = second[0].values[0];
  };
  f32 got[3] = {};
  launch("groups", kernel, {{}, threads, tiles_bytes}, {}, global_pointer(got, 3));
  CHECK(got[0] == 0);
  CHECK(std::isnan(got[1]));
  CHECK(got[2] == 0);
}

TEST_CASE("wgmma: descriptors are read as they are") {
  const auto with = [](auto change) {
    const auto a = random_tensor<bf16>(Shape{64, depth}, 1, 1),
               b = random_tensor<bf16>(Shape{64, depth}, 2, 1);
    HostTensor<f32> d(Shape{64, 64});
    ProductSizes sizes{{Swizzle::none, false, 64}, {Swizzle::of_128_bytes, false, 64}, false};
    change(sizes.b);
    const auto kernel = +[](GlobalPointer<const bf16> from_a, GlobalPointer<const bf16> from_b,
                            GlobalPointer<f32> to, Swizzle swizzle, int stride) {
      const Layout of_a{Swizzle::none, false, 64}, of_b{Swizzle::of_128_bytes, false, 64};
      for (int i = thread_index(); i < 64 * depth; i += threads) {
        tile_at(0)[of_a.place(i / depth, i % depth) / 2] = from_a[i];
        tile_at(1)[of_b.place(i / depth, i % depth) / 2] = from_b[i];
      }
      fence_async_proxy();
      sync_block();
      Sums sums[8];
      fence_products(sums);
      multiply_group<bf16, false>(
          sums, shared_matrix(shared_address(tile_at(0)), Swizzle::none, of_a.leading(), of_a.stride()),
          shared_matrix(shared_address(tile_at(1)), swizzle, 0, stride), false);
      commit_products();
      wait_products<0>(sums);
      to[thread_index()] = sums[1].values[0];
    };
    launch("descriptors", kernel, {{}, threads, tiles_bytes}, {},
           GlobalPointer<const bf16>(global_pointer(a.data(), a.elements())),
           GlobalPointer<const bf16>(global_pointer(b.data(), b.elements())),
           global_pointer(d.data(), d.elements()), sizes.b.swizzle, sizes.b.outer * 16);
    return std::vector<f32>(d.data(), d.data() + threads);
  };
  const auto right = with([](Layout&) {});
  CHECK(with([](Layout& b) { b.outer = 56; }) != right);  // a stride between groups of eight rows
  CHECK(with([](Layout& b) { b.swizzle = Swizzle::of_64_bytes; }) != right);
  CHECK(with([](Layout& b) { b.swizzle = Swizzle::none; }) != right);
}

namespace {

/// The PTX ISA's worked examples of rows across the depth ("Canonical Layouts", for bf16), whose strides are
/// not those of the tiles above: W chunks of 16 bytes in a row, two patterns of columns, two of depth.
template <int Columns, int W>
PRECAST_KERNEL void worked_example(GlobalPointer<const bf16> a, GlobalPointer<const bf16> b,
                                   GlobalPointer<f32> d, int pattern_of_columns, int pattern_of_depth,
                                   SharedMatrix unplaced) {
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
  Sums sums[Columns / 8];
  fence_products(sums, factors);
  const std::uint64_t placed = unplaced.bits | shared_address(values) >> 4;
  simt::multiply_group<bf16, Columns, true>(sums[0].values, factors[0].words, placed, false);
  commit_products();
  wait_products<0>(sums);
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
         SharedMatrix{leading << 16 | stride << 32 | swizzle << 62});
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

TEST_CASE("wgmma: what no warpgroup does is an error") {
  CHECK_THAT(error_in(96,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        start_product(sums);
                      }),
             Contains("fewer than four warps"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        if (warp_index() < 3) start_product(sums), wait_products<0>(sums);
                      }),
             Contains("warp 3 has started 0 products, and its warpgroup 1"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        start_product(sums, warp_index() == 2 ? 1 : 0);
                        wait_products<0>(sums);
                      }),
             Contains("or of other matrices"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        start_product(sums, lane_index() / 16);
                      }),
             Contains("that are not those of all lanes"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        start_product(sums);
                      }),
             Contains("are still under way: multiply_group at test_warpgroup_matrix.cpp"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        start_product(sums);
                        sums[2].values[0] = 0;
                        wait_products<0>(sums);
                      }),
             Contains("whose sums have been written to"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        start_product(sums, 4);  // a row further: the pattern would start in its middle
                        wait_products<0>(sums);
                      }),
             Contains("does not start where the pattern of its permutation does"));
  CHECK_THAT(error_in(threads,
                      [] {
                        fill_tiles();
                        Sums sums[8];
                        fence_products(sums);
                        multiply_group<bf16, false>(
                            sums, matrix_at(0, 0),
                            shared_matrix(shared_address(tile_at(1)), Swizzle::of_128_bytes, 0, 2048), true);
                        commit_products();
                        wait_products<0>(sums);
                      }),
             Contains("leaves shared memory"));
}
