// Flash attention on the host where scores are so large that f32 cannot hold what tells them from their
// rounded product with the scale.
#include <cstdint>

#include <catch2/catch.hpp>
#include <support/policies.hpp>

#include <precast/ops/attention.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("the largest score has the weight 1, however large it is", "[attention]") {
  constexpr std::int64_t keys = 300, width = 24;  // three blocks of keys
  const bool causal = GENERATE(false, true);
  const f32 size = GENERATE(1e8f, 1e9f, 1e11f, 1e15f, 1e30f);
  CAPTURE(causal, size);
  Tensor<f32> q(Shape{1, keys, width}), k(Shape{1, keys, width}), v(Shape{1, keys, width});
  const auto length = [](std::int64_t key) { return static_cast<f32>(1 + key * 37 % 101 + key / 101); };
  for (std::int64_t i = 0; i < keys * width; ++i) {
    q.data()[i] = size * (1 + 0.01f * static_cast<f32>(i % width));
    k.data()[i] = length(i / width);
    v.data()[i] = static_cast<f32>(i / width);
  }
  const Tensor<f32> out = attention<F32Flash>(q, k, v, AttentionOptions{.heads = 1, .causal = causal});
  std::int64_t best = 0;
  const auto longer = [&](std::int64_t key) { return length(key) > length(best); };
  for (std::int64_t key = 0; !causal && key < keys; ++key)
    if (longer(key)) best = key;
  for (std::int64_t i = 0; i < keys; ++i) {
    if (longer(i)) best = i;
    std::int64_t as_long = 0;
    f32 mean = 0;
    for (std::int64_t key = 0; key < (causal ? i + 1 : keys); ++key)
      if (length(key) == length(best)) ++as_long, mean += static_cast<f32>(key);
    REQUIRE(out.data()[i * width] == Approx(mean / static_cast<f32>(as_long)));
  }
}
