// Linear, Conv2d and the norms: a module computes what its op computes from the weights that lie under its
// names.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <support/memory_source.hpp>

#include <precast/nn/conv.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Small dyadic numbers: products and short sums of them are exact in every dtype here.
std::vector<f32> exact_values(std::int64_t count, int seed) {
  std::vector<f32> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<f32>((static_cast<int>(i) * 7 + seed * 3) % 9 - 4) * 0.25f;
  return values;
}

Tensor<f32> exact_tensor(const Shape& shape, int seed) {
  return {shape, exact_values(shape.elements(), seed)};
}

template <class T>
f32 at(const Tensor<T>& tensor, std::int64_t index) {
  return convert<f32>(tensor.data()[index]);
}

using Policies =
    std::tuple<presets::Quality, presets::Fast, presets::Memory, Policy<Storage<fp8_e4m3>, Compute<bf16>>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("a linear layer multiplies by its weight's rows and adds its bias", "", Policies) {
  using P = TestType;
  constexpr std::int64_t in = 5, out = 7, rows = 11;
  MemorySource source;
  const std::vector<f32> weight = exact_values(out * in, 1), bias = exact_values(out, 2);
  source.add<f32>("layer.weight", {out, in}, weight);
  source.add<f16>("layer.bias", {out}, bias);
  source.add<bf16>("bare.weight", {out, in}, weight);
  const nn::ParameterPath root(source);
  const nn::Linear<P> layer(root / "layer", in, out), bare(root / "bare", in, out, nn::Bias::absent);
  CHECK(source.bytes_taken() == source.total_bytes());

  const Tensor<f32> x = exact_tensor({1, rows, in}, 3);
  const auto y = layer(x), without_bias = bare(x);
  CHECK(y.shape() == Shape{1, rows, out});
  int different = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o) {
      f32 sum = 0;
      for (std::int64_t i = 0; i < in; ++i)
        sum += x.data()[r * in + i] * weight[static_cast<std::size_t>(o * in + i)];
      const auto rounded = [](f32 value) { return convert<f32>(convert<typename P::activation>(value)); };
      different += at(without_bias, r * out + o) != rounded(sum);
      different += at(y, r * out + o) != rounded(sum + bias[static_cast<std::size_t>(o)]);
    }
  CHECK(different == 0);
}

TEMPLATE_LIST_TEST_CASE("a linear layer writes into a slice, and nowhere else", "", Policies) {
  using Activation = typename TestType::activation;
  MemorySource source;
  source.add<f32>("weight", {3, 4}, exact_values(12, 4));
  source.add<f32>("bias", {3}, exact_values(3, 5));
  const nn::Linear<TestType> layer(nn::ParameterPath(source), 4, 3);
  const Tensor<f32> x = exact_tensor({6, 4}, 6);
  const auto whole = layer(x, ActivationFunction::silu);
  Tensor<Activation> wide(Shape{6, 8});
  const auto mark = convert<Activation>(9.0f);
  std::fill(wide.values().begin(), wide.values().end(), mark);
  layer.into(x, ActivationFunction::silu, wide.view().columns_between(2, 3));
  for (std::int64_t r = 0; r < 6; ++r)
    for (std::int64_t c = 0; c < 8; ++c) {
      const bool inside = c >= 2 && c < 5;
      CHECK(at(wide, r * 8 + c) == (inside ? at(whole, r * 3 + c - 2) : 9.0f));
    }
}

TEMPLATE_LIST_TEST_CASE("a convolution slides its kernel over a padded picture", "", Policies) {
  using P = TestType;
  constexpr std::int64_t in = 2, out = 3, height = 4, width = 5;
  MemorySource source;
  const std::vector<f32> weight = exact_values(out * in * 9, 1), bias = exact_values(out, 2);
  source.add<f32>("conv.weight", {out, in, 3, 3}, weight);
  source.add<f32>("conv.bias", {out}, bias);
  const nn::Conv2d<P> conv(nn::ParameterPath(source) / "conv", in, out, 3);
  const Tensor<f32> x = exact_tensor({1, height, width, in}, 3);
  /// The sum at an output pixel whose kernel begins at (top, left).
  const auto expected = [&](std::int64_t top, std::int64_t left, std::int64_t o) {
    f32 sum = bias[static_cast<std::size_t>(o)];
    for (std::int64_t ky = 0; ky < 3; ++ky)
      for (std::int64_t kx = 0; kx < 3; ++kx)
        for (std::int64_t i = 0; i < in; ++i) {
          const std::int64_t row = top + ky, column = left + kx;
          if (row < 0 || row >= height || column < 0 || column >= width) continue;
          sum += x.data()[(row * width + column) * in + i] *
                 weight[static_cast<std::size_t>(((o * in + i) * 3 + ky) * 3 + kx)];
        }
    return convert<f32>(convert<typename P::activation>(sum));
  };
  const auto same = conv(x);
  CHECK(same.shape() == Shape{1, height, width, out});
  // As a VAE halves its picture: padded at the right and the bottom only.
  const auto halved = conv.with(x, {.stride = 2, .pad_bottom = 1, .pad_right = 1});
  CHECK(halved.shape() == Shape{1, 2, 2, out});
  int different = 0;
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t r = 0; r < height; ++r)
      for (std::int64_t c = 0; c < width; ++c)
        different += at(same, (r * width + c) * out + o) != expected(r - 1, c - 1, o);
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t c = 0; c < 2; ++c)
        different += at(halved, (r * 2 + c) * out + o) != expected(2 * r, 2 * c, o);
  }
  CHECK(different == 0);
}

TEST_CASE("norms scale by their weight, and shift by their bias where they have one") {
  using P = presets::Quality;
  MemorySource source;
  const std::vector<f32> weight{1, 2, -1, 0.5f}, bias{0.25f, 0, 1, -3};
  source.add<f32>("norm.weight", {4}, weight);
  source.add<f32>("norm.bias", {4}, bias);
  const nn::ParameterPath place = nn::ParameterPath(source) / "norm";
  const Tensor<f32> x = exact_tensor({1, 2, 2, 4}, 7);
  const auto group = [&](std::int64_t row, bool centred, double epsilon, std::int64_t c) {
    double mean = 0, square = 0;
    for (std::int64_t i = 0; i < 4; ++i) mean += centred ? x.data()[row * 4 + i] / 4 : 0;
    for (std::int64_t i = 0; i < 4; ++i)
      square += (x.data()[row * 4 + i] - mean) * (x.data()[row * 4 + i] - mean) / 4;
    return (x.data()[row * 4 + c] - mean) / std::sqrt(square + epsilon);
  };
  const auto layer = nn::LayerNorm<P>(place, 4, 1e-3f)(x);
  const auto root_mean_square = nn::RmsNorm<P>(place, 4, 1e-2f)(x);
  const auto groups = nn::GroupNorm<P>(place, 2, 4, 1e-3f)(x);
  for (std::int64_t row = 0; row < 4; ++row)
    for (std::int64_t c = 0; c < 4; ++c) {
      const auto i = static_cast<std::size_t>(c);
      CHECK(at(layer, row * 4 + c) ==
            Approx(group(row, true, 1e-3, c) * weight[i] + bias[i]).epsilon(1e-5).margin(1e-6));
      CHECK(at(root_mean_square, row * 4 + c) ==
            Approx(group(row, false, 1e-2, c) * weight[i]).epsilon(1e-5).margin(1e-6));
    }
  // Two groups of two channels, over all four pixels.
  for (std::int64_t g = 0; g < 2; ++g) {
    double mean = 0, square = 0;
    for (std::int64_t p = 0; p < 4; ++p)
      for (std::int64_t c = 2 * g; c < 2 * g + 2; ++c) mean += x.data()[p * 4 + c] / 8;
    for (std::int64_t p = 0; p < 4; ++p)
      for (std::int64_t c = 2 * g; c < 2 * g + 2; ++c)
        square += (x.data()[p * 4 + c] - mean) * (x.data()[p * 4 + c] - mean) / 8;
    for (std::int64_t p = 0; p < 4; ++p)
      for (std::int64_t c = 2 * g; c < 2 * g + 2; ++c) {
        const auto i = static_cast<std::size_t>(c);
        const double normed = (x.data()[p * 4 + c] - mean) / std::sqrt(square + 1e-3);
        CHECK(at(groups, p * 4 + c) == Approx(normed * weight[i] + bias[i]).epsilon(1e-5).margin(1e-6));
      }
  }
}

TEST_CASE("a module refuses weights of another size, and weights that are not there") {
  using P = presets::Quality;
  MemorySource source;
  source.add<f32>("a.weight", {3, 4}, exact_values(12, 1));
  source.add<f32>("a.bias", {4}, exact_values(4, 1));
  source.add<f32>("c.weight", {3, 4, 3, 1}, exact_values(36, 1));
  source.add<f32>("c.bias", {3}, exact_values(3, 1));
  const nn::ParameterPath root(source);
  CHECK_THROWS_AS(nn::Linear<P>(root / "a", 3, 4), InputError);
  CHECK_THROWS_AS(nn::Linear<P>(root / "a", 4, 3), InputError);  // the bias is for four
  CHECK_NOTHROW(nn::Linear<P>(root / "a", 4, 3, nn::Bias::absent));
  CHECK_THROWS_AS(nn::Linear<P>(root / "b", 4, 3), InputError);
  CHECK_THROWS_AS(nn::Conv2d<P>(root / "c", 4, 3, 3), InputError);
  CHECK_THROWS_AS(nn::LayerNorm<P>(root / "a", 4, 1e-5f), InputError);
  CHECK_THROWS_AS(nn::RmsNorm<P>(root / "b", 4, 1e-5f), InputError);
}
