// ldmatrix and mma.sync: which lane holds what, the values they compute, and the banks they read.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cuda/device/barrier.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/matrix.hpp>
#include <precast/cuda/device/shared.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::cuda;

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
  Sums sums;
  for (int i = 0; i < 4; ++i) sums.values[i] = d[(group + i / 2 * 8) * 8 + in_group * 2 + i % 2];
  multiply_add<T>(sums, fa, fb);
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
