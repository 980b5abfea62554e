// Kernels of rotary and timestep embeddings against float64.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <support/arrays.hpp>

#include <precast/cuda/position/rotary.hpp>
#include <precast/cuda/position/timestep_embedding.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {
using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
}  // namespace

TEMPLATE_TEST_CASE("the rotary kernel turns neighbouring pairs of each head", "[position]", F32, Bf16, F16) {
  using Types = precisions<TestType, Position>;
  using A = typename TestType::activation;
  constexpr std::int64_t batch = 2, tokens = 5, heads = 3;
  for (const std::int64_t width : {2, 12, 64, 128}) {
    const auto x = random_tensor<A>(Shape{batch, tokens, heads * width}, 1, 2);
    const auto cos = random_tensor<f32>(Shape{tokens, width}, 2),
               sin = random_tensor<f32>(Shape{tokens, width}, 3);
    const auto in = wide(x), c = wide(cos), s = wide(sin);
    std::vector<double> expected(in.size()), bounds(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto columns = static_cast<std::size_t>(heads * width), w = static_cast<std::size_t>(width);
      const std::size_t at = i / columns % tokens * w + i % w;
      const double other = i % 2 == 0 ? -in[i + 1] : in[i - 1];
      expected[i] = in[i] * c[at] + other * s[at];
      bounds[i] = 2 * unit<f32> * (std::abs(in[i] * c[at]) + std::abs(other * s[at]));
    }
    // Into a slice, whose first column is aligned or not.
    for (const std::int64_t offset : {3, 8}) {
      Tensor<A> target(Shape{batch, tokens, heads * width + 2 * offset});
      std::fill(target.values().begin(), target.values().end(), from_double<A>(9));
      const View<A> out = target.view().columns_between(offset, heads * width);
      cuda::rotary<Types, A>(x, cos, sin, out);
      INFO(width << " wide, offset " << offset);
      CHECK(outside(out, expected, [&](std::size_t i) { return bounds[i]; }) == "");
      for (const double untouched : wide(target.view().columns_between(0, offset))) CHECK(untouched == 9);
      for (const double untouched : wide(target.view().columns_between(offset + heads * width, offset)))
        CHECK(untouched == 9);
    }
  }
}

TEMPLATE_TEST_CASE("the timestep kernel writes cosines, then sines", "[position]", F32, Bf16) {
  std::vector<f32> times{0, 1, 499.5f, 1000};
  while (times.size() < 70)
    times.push_back(static_cast<f32>(times.size()));  // more than travel with one launch
  for (const std::int64_t dim : {2, 7, 256}) {
    const auto rows = static_cast<std::int64_t>(times.size());
    Tensor<typename TestType::activation> result(Shape{rows, dim});
    cuda::timestep_embedding<precisions<TestType, Position>>(times, result);
    const std::int64_t half = dim / 2;
    std::vector<double> expected(static_cast<std::size_t>(rows * dim)), bounds(expected.size());
    for (std::size_t t = 0; t < times.size(); ++t)
      for (std::int64_t i = 0; i < half; ++i) {
        const double exponent = std::log(10000.0) * static_cast<double>(i) / static_cast<double>(half);
        const double angle = times[t] * std::exp(-exponent);
        const std::size_t at = t * static_cast<std::size_t>(dim) + static_cast<std::size_t>(i);
        expected[at] = std::cos(angle);
        expected[at + static_cast<std::size_t>(half)] = std::sin(angle);
        // As in tests/ops: three roundings of the exponent, which exp turns into relative ones, and two.
        bounds[at] = bounds[at + static_cast<std::size_t>(half)] = angle * unit<f32> * (3 * exponent + 2);
      }
    CHECK(outside(result, expected, [&](std::size_t i) { return bounds[i]; }) == "");
  }
}
