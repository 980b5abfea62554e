// Norms, softmax, functions of values and positions: every field of their rows of the op table is what their
// kernels compute in (as fields.cpp has it for products), and what naive f16, Downcast<...>, does to a model.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/field_rows.hpp>
#include <support/arrays.hpp>
#include <support/memory_source.hpp>
#include <support/narrow_reference.hpp>
#include <support/norm_reference.hpp>

#include <precast/nn/norm.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/ops/timestep_embedding.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/elementwise.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

constexpr double narrow_eps = static_cast<f32>(1e-3);

/// f32 arithmetic: x scale + shift, in two roundings where the row is narrow.
double affine(double x, double scale, double shift) { return kept_in<f32>(kept_in<f32>(x * scale) + shift); }

constexpr std::int64_t heads = 2;

struct NormInputs {
  HostTensor<f32> x = random_tensor<f32>({field_rows, field_columns}, 1, 2, 3),
                  scale = random_tensor<f32>({field_columns}, 2),
                  shift = random_tensor<f32>({field_columns}, 3);
};

template <class Types>
Values layer_norm_in(const NormInputs& in) {
  Tensor<typename Types::result> out(in.x.shape());
  const Tensor<f32> x = sent(in.x), scale = sent(in.scale), shift = sent(in.shift);
  backend::layer_norm<Types>(as_view(x), Affine<f32>{as_view(scale), as_view(shift)},
                             static_cast<f32>(narrow_eps), out.view());
  return wide(out);
}
template <class Types>
Values expected_layer_norm_in(const NormInputs& in) {
  Values values;
  if constexpr (!is_narrow<Types>) {
    values =
        expected_layer_norm(wide(in.x), field_columns, 0, wide(in.scale), wide(in.shift), narrow_eps).values;
  } else {
    for (std::int64_t r = 0; r < field_rows; ++r) {
      const auto row =
          narrow_normalised<Types>(row_of(wide(in.x), r, field_columns), Around::mean, narrow_eps);
      for (std::size_t c = 0; c < row.size(); ++c)
        values.push_back(affine(row[c], in.scale.data()[c], in.shift.data()[c]));
    }
  }
  for (double& value : values) value = kept_in<typename Types::result>(value);
  return values;
}

template <class Types>
Values rms_norm_in(const NormInputs& in) {
  Tensor<typename Types::result> out(in.x.shape());
  const Tensor<f32> x = sent(in.x), scale = sent(in.scale);
  backend::rms_norm<Types>(as_view(x),
                           as_view(scale).reshaped({heads, field_columns / heads}).rows_between(0, 1),
                           static_cast<f32>(narrow_eps), out.view());
  return wide(out);
}
template <class Types>
Values expected_rms_norm_in(const NormInputs& in) {
  const std::int64_t width = field_columns / heads;
  const Values scale = row_of(wide(in.scale), 0, width);
  Values values;
  if constexpr (!is_narrow<Types>) {
    values = expected_rms_norm(wide(in.x), scale, narrow_eps).values;
  } else {
    for (std::int64_t h = 0; h < field_rows * heads; ++h) {
      const auto head = narrow_normalised<Types>(row_of(wide(in.x), h, width), Around::zero, narrow_eps);
      for (std::size_t c = 0; c < head.size(); ++c) values.push_back(kept_in<f32>(head[c] * scale[c]));
    }
  }
  for (double& value : values) value = kept_in<typename Types::result>(value);
  return values;
}

// The same values as a picture of [2, 15, 70], in 5 groups of 14 channels.
constexpr std::int64_t batch = 2, pixels = 15, channels = 70, groups = 5;

template <class Types>
Values group_norm_in(const NormInputs& in) {
  Tensor<typename Types::result> out({batch, pixels, 1, channels});
  const Tensor<f32> x = sent(in.x), scale = sent(in.scale), shift = sent(in.shift);
  backend::group_norm<Types>(as_view(x).reshaped(out.shape()), groups,
                             as_view(scale).reshaped({10, channels}).rows_between(0, 1),
                             as_view(shift).reshaped({10, channels}).rows_between(0, 1),
                             static_cast<f32>(narrow_eps), ActivationFunction::relu, out.view());
  return wide(out);
}
template <class Types>
Values expected_group_norm_in(const NormInputs& in) {
  const Values x = wide(in.x), scale = row_of(wide(in.scale), 0, channels),
               shift = row_of(wide(in.shift), 0, channels);
  Values values(x.size());
  if constexpr (!is_narrow<Types>) {
    values = expected_group_norm(x, batch, channels, groups, scale, shift, narrow_eps).values;
  } else {
    constexpr std::int64_t width = channels / groups;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t g = 0; g < groups; ++g) {
        const auto at = [&](std::int64_t i) {
          return static_cast<std::size_t>((b * pixels + i / width) * channels + g * width + i % width);
        };
        Values group;
        for (std::int64_t i = 0; i < pixels * width; ++i) group.push_back(x[at(i)]);
        group = narrow_normalised<Types>(group, Around::mean, narrow_eps);
        for (std::int64_t i = 0; i < pixels * width; ++i) {
          const auto c = static_cast<std::size_t>(g * width + i % width);
          // What the activation takes is kept between two steps.
          values[at(i)] =
              kept_in<typename Types::inside>(affine(group[static_cast<std::size_t>(i)], scale[c], shift[c]));
        }
      }
  }
  for (double& value : values) value = kept_in<typename Types::result>(std::max(value, 0.0));
  return values;
}

template <class Types>
Values softmax_in(const NormInputs& in) {
  Tensor<typename Types::result> out(in.x.shape());
  const Tensor<f32> x = sent(in.x);
  backend::softmax<Types>(as_view(x), out.view());
  return wide(out);
}
template <class Types>
Values expected_softmax_in(const NormInputs& in) {
  Values values;
  for (std::int64_t r = 0; r < field_rows; ++r)
    for (const double value : narrow_softmax_of<Types>(row_of(wide(in.x), r, field_columns)))
      values.push_back(value);
  return values;
}

template <class Kept>
double sigmoid_of(double x) {
  return step<Kept>(1 / (1 + std::exp(-x)));
}

/// What a function gives in Row and in the same row with f16 inside, against float64.
template <class F, class Reference, class... In>
void function_feels_inside(const F& function, Reference&& reference, const In&... in) {
  using InF32 = OpDtypes<f32, AsGiven, NoDtype, f32, f32>;
  using InF16 = OpDtypes<f32, AsGiven, NoDtype, f16, f32>;
  const auto run = [&]<class Types>(Types) {
    Tensor<f32> out(std::get<0>(std::tie(in...)).shape());
    backend::map_values<Types>(out.view(), function, as_view(in)...);
    return wide(out);
  };
  const auto expected = [&]<class Kept>(Kept) {
    Values values;
    const std::vector<Values> inputs{wide(in)...};
    for (std::size_t i = 0; i < inputs[0].size(); ++i)
      values.push_back(reference(Kept{}, inputs[0][i], inputs.size() > 1 ? inputs[1][i] : 0,
                                 inputs.size() > 2 ? inputs[2][i] : 0));
    return values;
  };
  const Values of_f32 = run(InF32{}), of_f16 = run(InF16{});
  constexpr double allowed = 16;
  CHECK(are(of_f32, expected(f32{}), allowed, 4));
  CHECK(are(of_f16, expected(f16{}), allowed, 4));
  CHECK_FALSE(are(of_f32, expected(f16{}), allowed, 4));
  CHECK_FALSE(are(of_f16, expected(f32{}), allowed, 4));
}

}  // namespace

TEST_CASE("sums, intermediates and results of norms are those of their row", "[fields][norm]") {
  each_its_own<NormInputs, Wide, Sums, Inside, Both, Rounded>(
      0, 4, [](auto row, const NormInputs& in) { return layer_norm_in<decltype(row)>(in); },
      [](auto row, const NormInputs& in) { return expected_layer_norm_in<decltype(row)>(in); });
  each_its_own<NormInputs, Wide, Sums, Inside, Both, Rounded>(
      0, 4, [](auto row, const NormInputs& in) { return rms_norm_in<decltype(row)>(in); },
      [](auto row, const NormInputs& in) { return expected_rms_norm_in<decltype(row)>(in); });
  each_its_own<NormInputs, Wide, Sums, Inside, Both, Rounded>(
      0, 4, [](auto row, const NormInputs& in) { return group_norm_in<decltype(row)>(in); },
      [](auto row, const NormInputs& in) { return expected_group_norm_in<decltype(row)>(in); });
}

TEST_CASE("sums and intermediates of softmax are those of its row", "[fields][softmax]") {
  const auto of_size_one = [](Values values) {  // weights are about 1 / columns
    for (double& value : values) value *= field_columns;
    return values;
  };
  each_its_own<NormInputs, Wide, Sums, Inside>(
      norm_roundings, 4,
      [&](auto row, const NormInputs& in) { return of_size_one(softmax_in<decltype(row)>(in)); },
      [&](auto row, const NormInputs& in) { return of_size_one(expected_softmax_in<decltype(row)>(in)); });
}

TEST_CASE("functions of several steps keep what is between them in their row's inside",
          "[fields][pointwise]") {
  const auto a = random_tensor<f32>({5, 41}, 1, 2), b = random_tensor<f32>({5, 41}, 2, 2),
             c = random_tensor<f32>({5, 41}, 3, 2);
  const Tensor<f32> x = sent(a), y = sent(b), z = sent(c);
  function_feels_inside(
      elementwise::Silu{},
      [](auto kept, double v, double, double) {
        using T = decltype(kept);
        return v * sigmoid_of<T>(v);
      },
      x);
  function_feels_inside(
      elementwise::QuickGelu{},
      [](auto kept, double v, double, double) {
        using T = decltype(kept);
        return v * sigmoid_of<T>(step<T>(static_cast<f32>(1.702) * v));
      },
      x);
  function_feels_inside(
      elementwise::GeluTanh{},
      [](auto kept, double v, double, double) {
        using T = decltype(kept);
        const double cube = step<T>(step<T>(v * v) * v);
        const double sum = step<T>(v + step<T>(static_cast<f32>(0.044715) * cube));
        return v * sigmoid_of<T>(step<T>(static_cast<f32>(1.59576912) * sum));
      },
      x);
  function_feels_inside(
      elementwise::GeluErf{},
      [](auto kept, double v, double, double) {
        using T = decltype(kept);
        const double at = step<T>(std::abs(v) * static_cast<f32>(0.707106781));
        return step<T>(0.5 * v) * step<T>(v < 0 ? std::erfc(at) : 2 - std::erfc(at));
      },
      x);
  function_feels_inside(
      elementwise::GatedProduct<elementwise::Silu>{},
      [](auto kept, double v, double w, double) {
        using T = decltype(kept);
        return step<T>(v * sigmoid_of<T>(v)) * w;
      },
      x, y);
  function_feels_inside(
      elementwise::GatedAdd{},
      [](auto kept, double r, double v, double g) {
        using T = decltype(kept);
        return std::is_same_v<T, f32> ? r + g * v : r + step<T>(g * v);
      },
      x, y, z);
  function_feels_inside(
      elementwise::ScaleShift{1.2345f, 0.75f},
      [](auto kept, double v, double, double) {
        using T = decltype(kept);
        const double product = static_cast<f32>(1.2345) * v;
        return (std::is_same_v<T, f32> ? product : step<T>(product)) + 0.75;
      },
      x);
}

TEST_CASE("functions and positions store their row's result, of operands that nothing rounds before",
          "[fields][pointwise][position]") {
  using InF32 = Policy<Storage<f32>>;
  using InBf16 = Policy<Storage<f32>, Activation<bf16>>;
  const auto from = random_tensor<f32>({1, 5, 12}, 1);
  const Tensor<f32> x = sent(from);
  const auto each = [&](const auto& run, std::string_view name) {
    INFO(name);
    const Values full = wide(run.template operator()<InF32>());
    Values rounded = full;
    for (double& value : rounded) value = kept_in<bf16>(value);
    CHECK(wide(run.template operator()<InBf16>()) == rounded);
    CHECK(rounded != full);
  };
  each([&]<class P>() { return activate<P>(x, ActivationFunction::silu); }, "activate");
  each([&]<class P>() { return add<P>(x, x); }, "add");
  const RotaryTable table = rotary_table(std::vector<std::int64_t>{6}, 100, std::vector<f32>{0, 1, 2, 3, 4});
  each([&]<class P>() { return rotary<P>(x, table); }, "rotary");
  const Tensor<f32> times = sent(filled<f32>({1}, 437));
  each([&]<class P>() { return timestep_embedding<P>(times.view(), 16); }, "timestep_embedding");
}

TEST_CASE("a norm's scale is held in its row's storage", "[fields][norm]") {
  using Plain = Policy<Storage<f32>, Compute<bf16>, Activation<f32>>;
  using Narrow = Policy<Storage<bf16>, Activation<f32>>;
  MemorySource source;
  source.add<f32>("norm.weight", {4}, std::vector<f32>(4, 1 + 1.0f / 512));
  const Tensor<f32> x = sent(random_tensor<f32>({3, 4}, 1));
  const auto run = [&]<class P>() {
    return wide(nn::RmsNorm<P>(nn::ParameterPath(source) / "norm", 4, static_cast<f32>(narrow_eps))(x));
  };
  const Values held = run.template operator()<Plain>(), rounded = run.template operator()<Narrow>();
  for (std::size_t i = 0; i < held.size(); ++i)
    CHECK(std::abs(held[i] - rounded[i] * (1 + 1.0 / 512)) <= 4 * unit<f32> * std::abs(held[i]));
}

TEST_CASE("a group norm whose sum f16 cannot hold is NaN in naive f16, and right without", "[norm]") {
  using Naive = Policy<Storage<f16>, Downcast<Norm>>;
  using Plain = Policy<Storage<f16>>;
  const auto x =
      random_tensor<f16>({1, 160, 256, 4}, 5, 1, 3);  // one group of 163,840 values, 491,520 in sum
  const auto ones = filled<f16>({4}, 1), zeros = filled<f16>({4}, 0);
  const auto naive =
      wide(group_norm<Naive>(sent(x), sent(ones), sent(zeros), {.groups = 1, .eps = narrow_eps}));
  CHECK(std::count_if(naive.begin(), naive.end(), [](double v) { return std::isnan(v); }) == 163840);
  const auto expected = expected_group_norm(wide(x), 1, 4, 1, wide(ones), wide(zeros), narrow_eps);
  CHECK(outside(group_norm<Plain>(sent(x), sent(ones), sent(zeros), {.groups = 1, .eps = narrow_eps}),
                expected.values, expected.bound()) == "");
}

TEST_CASE("a square that f16 cannot hold makes an RMS norm zero in naive f16", "[norm]") {
  using Naive = Policy<Storage<f16>, Downcast<Norm>>;
  auto x = filled<f16>({2, 8}, 1);
  x.data()[3] = from_double<f16>(300);
  const auto result = wide(rms_norm<Naive>(sent(x), sent(filled<f16>({8}, 1)), {.eps = narrow_eps}));
  for (std::size_t i = 0; i < 8; ++i) CHECK(result[i] == 0);
  for (std::size_t i = 8; i < 16; ++i) CHECK(std::abs(result[i] - 1) < 2 * unit<f16> + narrow_eps);
}

TEST_CASE("Downcast changes the classes that it names, and no others", "[fields]") {
  using Naive = Policy<Storage<f16>, Downcast<Norm, Pointwise>>;
  using Plain = Policy<Storage<f16>>;
  const Tensor<f16> x = sent(random_tensor<f16>({3, 700}, 1, 2, 3));
  CHECK_FALSE(
      same_bits(layer_norm<Naive>(x, {.eps = narrow_eps}), layer_norm<Plain>(x, {.eps = narrow_eps})));
  CHECK_FALSE(
      same_bits(activate<Naive>(x, ActivationFunction::silu), activate<Plain>(x, ActivationFunction::silu)));
  CHECK(same_bits(softmax<Naive>(x), softmax<Plain>(x)));
  CHECK_FALSE(same_bits(softmax<Policy<Storage<f16>, Downcast<Softmax>>>(x), softmax<Plain>(x)));
}
