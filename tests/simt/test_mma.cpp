// ldmatrix and mma.sync: which lane holds what, the values they compute, and the banks they read.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

/// A word of a lane of an operand in memory: row r of A, or column r of B, is 32 bytes of `bytes`.
PRECAST_DEVICE std::uint32_t word_at(GlobalPointer<const std::uint32_t> words, int r, int word) {
  return words[r * 8 + word];
}

/// One product of 16 x depth by depth x 8, its fragments by the pictures of the PTX ISA, section "Matrix
/// fragments": groupID is lane / 4 and threadID_in_group lane % 4.
template <class T>
PRECAST_KERNEL void one_product(GlobalPointer<const std::uint32_t> a, GlobalPointer<const std::uint32_t> b,
                                GlobalPointer<f32> d) {
  const int group = lane_index() / 4, in_group = lane_index() % 4;
  const Fragment<4> fa{{word_at(a, group, in_group), word_at(a, group + 8, in_group),
                        word_at(a, group, in_group + 4), word_at(a, group + 8, in_group + 4)}};
  const Fragment<2> fb{{word_at(b, group, in_group), word_at(b, group, in_group + 4)}};
  AccumulatorFragment sums;
  for (int i = 0; i < 4; ++i) sums.values[i] = d[(group + i / 2 * 8) * 8 + in_group * 2 + i % 2];
  mma_sync<T>(sums, fa, fb);
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + in_group * 2 + i % 2] = sums.values[i];
}

template <class T>
void put(std::vector<std::uint32_t>& words, int index, f32 value) {
  if constexpr (std::is_same_v<T, tf32>) {
    words[static_cast<std::size_t>(index)] = std::bit_cast<std::uint32_t>(convert<f32>(convert<tf32>(value)));
  } else {
    const T code = convert<T>(value);
    std::memcpy(reinterpret_cast<char*>(words.data()) + static_cast<std::size_t>(index) * sizeof(T), &code,
                sizeof(T));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("mma.sync: a plain product, for each dtype of operands", "", bf16, f16, tf32, fp8_e4m3,
                   fp8_e5m2) {
  constexpr int depth = product_depth<TestType>;
  std::mt19937 random(7);
  std::normal_distribution<f32> normal;
  std::vector<std::uint32_t> a(16 * 8), b(8 * 8);
  std::vector<f32> d(16 * 8);
  std::vector<double> exact(16 * 8), size(16 * 8), va(16 * depth), vb(8 * depth);
  for (int i = 0; i < 16 * depth; ++i) {
    const f32 value = normal(random);
    put<TestType>(a, i, value);
    va[static_cast<std::size_t>(i)] = to_double(convert<TestType>(value));
  }
  for (int i = 0; i < 8 * depth; ++i) {
    const f32 value = normal(random);
    put<TestType>(b, i, value);
    vb[static_cast<std::size_t>(i)] = to_double(convert<TestType>(value));
  }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      const auto at = static_cast<std::size_t>(row * 8 + column);
      d[at] = normal(random);
      exact[at] = d[at];
      size[at] = std::abs(d[at]);
      for (int k = 0; k < depth; ++k) {
        const double product =
            va[static_cast<std::size_t>(row * depth + k)] * vb[static_cast<std::size_t>(column * depth + k)];
        exact[at] += product;
        size[at] += std::abs(product);
      }
    }
  launch("one_product", one_product<TestType>, {{}, 32}, {},
         GlobalPointer<const std::uint32_t>(global_pointer(a.data(), 128)),
         GlobalPointer<const std::uint32_t>(global_pointer(b.data(), 64)), global_pointer(d.data(), 128));
  // Each group cuts its terms off 24 bits behind the largest, and its sum at f32's last bit: 2 groups.
  for (std::size_t at = 0; at < d.size(); ++at)
    CHECK(std::abs(d[at] - exact[at]) <= 2 * (depth / 2 + 1 + 2) * std::ldexp(size[at], -24));
}

namespace {

/// Each lane's words of Count 8 x 8 matrices, whose value at row r and column c is 100 matrix + 10 r + c;
/// rows lie `stride` values apart.
template <int Count, bool Transposed>
PRECAST_KERNEL void load_matrices(GlobalPointer<std::uint32_t> to, int stride) {
  auto matrices = dynamic_shared<std::uint16_t>(0, Count * 8 * stride);
  for (int i = thread_index(); i < Count * 64; i += 32)
    matrices[i / 8 * stride + i % 8] = static_cast<std::uint16_t>(i / 64 * 100 + i / 8 % 8 * 10 + i % 8);
  sync_block();
  const int row = lane_index() % (8 * Count);  // the lanes beyond pass what they like
  const SharedPointer<const std::uint16_t> address = matrices + row * stride;
  const auto fragment = ldmatrix<Count, Transposed>(address);
  for (int word = 0; word < Count; ++word) to[lane_index() * Count + word] = fragment.words[word];
}

template <int Count, bool Transposed>
simt::LaunchRecord check_loads(int stride) {
  std::vector<std::uint32_t> got(32 * Count);
  const simt::Session session;
  launch("load_matrices", load_matrices<Count, Transposed>,
         {{}, 32, static_cast<std::size_t>(Count * 8 * stride * 2)}, {},
         global_pointer(got.data(), 32 * Count), stride);
  for (int lane = 0; lane < 32; ++lane)
    for (int word = 0; word < Count; ++word)
      for (int half = 0; half < 2; ++half) {
        const int outer = lane / 4, inner = lane % 4 * 2 + half;
        const int row = Transposed ? inner : outer, column = Transposed ? outer : inner;
        const std::uint32_t value =
            got[static_cast<std::size_t>(lane * Count + word)] >> (16 * half) & 0xffff;
        CHECK(value == static_cast<std::uint32_t>(word * 100 + row * 10 + column));
      }
  return session.launches().at(0);
}

}  // namespace

TEST_CASE("ldmatrix: each lane receives the values of the picture") {
  check_loads<1, false>(8);
  check_loads<2, false>(8);
  check_loads<4, false>(8);
  check_loads<1, true>(8);
  check_loads<2, true>(8);
  check_loads<4, true>(8);
}

TEST_CASE("ldmatrix counts how often banks are read again") {
  CHECK(check_loads<4, false>(8).matrix_loads == 4);
  CHECK(check_loads<4, false>(8).bank_conflicts == 0);       // rows side by side: 128 bytes
  CHECK(check_loads<4, false>(64).bank_conflicts == 4 * 7);  // rows 128 bytes apart: the same four banks
  CHECK(check_loads<4, false>(32).bank_conflicts == 4 * 3);  // 64 bytes apart: two places in turn
  CHECK(check_loads<4, false>(72).bank_conflicts == 0);      // padded by 16 bytes
}

TEST_CASE("ldmatrix takes rows on a multiple of 16 bytes, inside their array") {
  const auto crooked = +[](int offset) {
    auto box = static_shared<std::uint16_t, 64, struct Rows>();
    const SharedPointer<const std::uint16_t> row =
        box + (lane_index() % 8 * 8 + (lane_index() == 5 ? offset : 0));
    ldmatrix<1>(row);
  };
  CHECK_NOTHROW(launch("rows", crooked, {{}, 32}, {}, 0));
  CHECK_THROWS_AS(launch("rows", crooked, {{}, 32}, {}, 4), simt::Misaligned);
  CHECK_THROWS_AS(launch("rows", crooked, {{}, 32}, {}, 32), simt::OutOfBounds);
}

TEST_CASE("mma.sync sums as tensor cores do: cut off behind the largest term, not rounded") {
  const auto sum_of = [](f32 start, std::vector<std::pair<f32, f32>> products) {
    std::vector<std::uint32_t> a(128), b(64);
    std::vector<f32> d(128, start);
    for (std::size_t k = 0; k < products.size(); ++k) {
      put<bf16>(a, static_cast<int>(k), products[k].first);
      put<bf16>(b, static_cast<int>(k), products[k].second);
    }
    launch("one_product", one_product<bf16>, {{}, 32}, {},
           GlobalPointer<const std::uint32_t>(global_pointer(a.data(), 128)),
           GlobalPointer<const std::uint32_t>(global_pointer(b.data(), 64)), global_pointer(d.data(), 128));
    return d[0];
  };
  const f32 ulp = std::ldexp(1.0f, -23);
  CHECK(sum_of(1, {{ulp, 0.75f}}) == 1.0f);                 // to nearest would be 1 + ulp
  CHECK(sum_of(1, {{ulp, 0.5f}, {ulp, 0.5f}}) == 1 + ulp);  // one bit more than f32's is kept in a group
  CHECK(sum_of(1, {{ulp, 0.25f}, {ulp, 0.25f}, {ulp, 0.25f}, {ulp, 0.25f}}) == 1.0f);
  CHECK(sum_of(-1, {{ulp, -0.75f}}) == -1.0f);  // towards zero on both sides
  CHECK(std::isinf(sum_of(1, {{std::ldexp(1.0f, 127), 2}})));
  CHECK(std::isnan(sum_of(std::numeric_limits<f32>::infinity(), {{-std::ldexp(1.0f, 127), 4}})) == false);
  CHECK(std::isnan(sum_of(std::numeric_limits<f32>::quiet_NaN(), {})));
}
