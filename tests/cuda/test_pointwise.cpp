// Pointwise kernels, casts, look-ups and resampling against float64 and against the host.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <support/arrays.hpp>

#include <precast/cuda/embedding/embedding.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>
#include <precast/cuda/pointwise/map_values.hpp>
#include <precast/cuda/resample/upsample_nearest.hpp>
#include <precast/policy/presets.hpp>
#include <precast/problem/elementwise.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;

/// Sizes around what a run, a row of lanes and a block of a map hold, and none.
const Shape shapes[] = {Shape{0},       Shape{1},       Shape{3, 7},  Shape{2, 4096},
                        Shape{5, 2049}, Shape{1, 9000}, Shape{900, 3}};

double exactly(Activate activation, double x) {
  switch (activation) {
    case Activate::none:
      return x;
    case Activate::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activate::gelu_erf:
      return x / 2 * std::erfc(-x * std::sqrt(0.5));
    case Activate::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activate::silu:
      return x / (1 + std::exp(-x));
    case Activate::relu:
      return std::max(x, 0.0);
  }
  return 0;
}
/// As in tests/ops: a few ulp, and the rounding of the inner function's argument times its condition number.
double activation_error(double x, double result) {
  return unit<f32> * std::abs(result) * (8 + 4 * std::min(x * x + std::abs(x), 200.0)) + 1e-36;
}

template <class A>
View<const A> in(const Tensor<A>& tensor) {
  return tensor.view();
}

}  // namespace

TEMPLATE_TEST_CASE("map_values computes activations and gated products", "[pointwise]", f32, bf16, f16) {
  for (const Shape& shape : shapes) {
    const auto x = random_tensor<TestType>(shape, 1, 3), y = random_tensor<TestType>(shape, 2, 3);
    const auto a = wide(x), b = wide(y);
    for (const Activate activation : {Activate::none, Activate::gelu_tanh, Activate::gelu_erf,
                                      Activate::quick_gelu, Activate::silu, Activate::relu}) {
      Tensor<TestType> activated(shape), gated(shape);
      elementwise::visit_activation(activation, [&](auto function) {
        cuda::map_values<false>(activated.view(), function, in(x));
        cuda::map_values<false>(gated.view(), elementwise::GatedProduct<decltype(function)>{}, in(x), in(y));
      });
      std::vector<double> expected(a.size()), product(a.size());
      for (std::size_t i = 0; i < a.size(); ++i)
        product[i] = (expected[i] = exactly(activation, a[i])) * b[i];
      INFO(to_string(activation) << " of " << to_string(shape));
      CHECK(outside(activated, expected,
                    [&](std::size_t i) { return activation_error(a[i], expected[i]); }) == "");
      CHECK(outside(gated, product, [&](std::size_t i) {
              return (activation_error(a[i], expected[i]) + unit<f32> * std::abs(expected[i])) *
                     std::abs(b[i]);
            }) == "");
    }
  }
}

TEMPLATE_TEST_CASE("map_values gives a gate to each picture and a row to each place", "[pointwise]", f32,
                   bf16) {
  for (const std::int64_t columns : {3, 24, 2100}) {
    for (const std::int64_t offset : {0, 5}) {
      constexpr std::int64_t batch = 3, tokens = 4;
      const auto residual = random_tensor<TestType>(Shape{batch, tokens, columns}, 1, 4),
                 x = random_tensor<TestType>(Shape{batch, tokens, columns}, 2);
      const auto modulation = random_tensor<TestType>(Shape{batch, columns + offset}, 3),
                 positions = random_tensor<TestType>(Shape{tokens, columns + offset}, 4);
      const auto gate = modulation.view().columns_between(offset, columns),
                 position = positions.view().columns_between(offset, columns);
      const auto base = wide(residual), value = wide(x), by = wide(gate), place = wide(position);
      std::vector<double> gated(base.size()), placed(base.size());
      for (std::size_t i = 0; i < base.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i) / columns,
                   column = static_cast<std::int64_t>(i) % columns;
        gated[i] = base[i] + by[static_cast<std::size_t>(row / tokens * columns + column)] * value[i];
        placed[i] = value[i] + place[static_cast<std::size_t>(row % tokens * columns + column)];
      }
      Tensor<TestType> out(x.shape());
      const auto bound_by = [](const std::vector<double>& expected) {
        return [&](std::size_t i) { return unit<f32> * std::abs(expected[i]); };
      };
      cuda::map_values<false>(out.view(), elementwise::GatedAdd{}, in(residual), in(x),
                              RowBroadcast<TestType>{gate, tokens});
      CHECK(outside(out, gated, bound_by(gated)) == "");
      cuda::map_values<false>(out.view(), elementwise::Add{}, in(x), RowBroadcast<TestType>{position, 1});
      CHECK(outside(out, placed, bound_by(placed)) == "");
    }
  }
}

TEST_CASE("map_values takes the dtypes as they come, and slices", "[pointwise]") {
  const auto a = random_tensor<f32>(Shape{6, 50}, 1);
  const auto b = random_tensor<f16>(Shape{6, 21}, 2);
  const View<const f32> slice = a.view().columns_between(10, 21);
  Tensor<bf16> target(Shape{6, 40});
  std::fill(target.values().begin(), target.values().end(), from_double<bf16>(7));
  cuda::map_values<false>(target.view().columns_between(5, 21), elementwise::Add{}, slice, in(b));
  for (std::int64_t r = 0; r < 6; ++r)
    for (std::int64_t c = 0; c < 40; ++c) {
      const bool inside = c >= 5 && c < 26;
      const f32 sum = inside ? slice.row(r)[static_cast<std::size_t>(c - 5)] +
                                   convert<f32>(b.view().row(r)[static_cast<std::size_t>(c - 5)])
                             : 7.0f;
      CHECK(target.view().row(r)[static_cast<std::size_t>(c)] == convert<bf16>(sum));
    }
}

TEST_CASE("the sampler's step is in f32, its product rounded first", "[pointwise]") {
  const auto start = random_tensor<f32>(Shape{70, 64}, 1), velocity = random_tensor<f32>(Shape{70, 64}, 2);
  Tensor<f32> state = start.clone();
  const f32 distance = 0.7f - 0.9f;
  cuda::map_values<false>(state.view(), elementwise::EulerStep{distance}, in(state), in(velocity));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < state.values().size(); ++i) {
    const volatile f32 change = distance * velocity.values()[i];
    wrong += state.values()[i] != start.values()[i] + change;
  }
  CHECK(wrong == 0);
}

namespace {

template <class To, bool Saturates, class From>
std::int64_t casts_that_differ() {
  // Every code of From where it has at most 16 bits, else f32 values of all magnitudes.
  std::vector<From> values;
  if constexpr (sizeof(From) <= 2)
    for (std::uint32_t code = 0; code < 1u << (8 * sizeof(From)); ++code)
      values.push_back(From{static_cast<decltype(From::bits)>(code)});
  else
    for (std::uint64_t code = 0; code <= 0xffffffffu; code += 131071)
      if constexpr (std::is_same_v<From, f32>)
        values.push_back(std::bit_cast<f32>(static_cast<std::uint32_t>(code)));
      else
        values.push_back(From{static_cast<std::uint32_t>(code) >> 13});
  const Tensor<From> from(Shape{static_cast<std::int64_t>(values.size())}, std::span<const From>(values));
  Tensor<To> to(from.shape());
  cuda::convert_values<To, Saturates>(from, to.view());
  std::int64_t different = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double got = to_double(to.values()[i]),
                 expected = to_double(convert_value<To, Saturates>(values[i]));
    different += !(got == expected ? std::signbit(got) == std::signbit(expected)
                                   : std::isnan(got) && std::isnan(expected));
  }
  return different;
}

template <class From>
void check_casts_from() {
  INFO("from " << dtype_traits<From>::name);
  CHECK(casts_that_differ<f32, false, From>() == 0);
  CHECK(casts_that_differ<tf32, false, From>() == 0);
  CHECK(casts_that_differ<bf16, false, From>() == 0);
  CHECK(casts_that_differ<f16, false, From>() == 0);
  CHECK(casts_that_differ<f16, true, From>() == 0);
  CHECK(casts_that_differ<fp8_e4m3, false, From>() == 0);
  CHECK(casts_that_differ<fp8_e4m3, true, From>() == 0);
  CHECK(casts_that_differ<fp8_e5m2, false, From>() == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("casts give the codes of convert<>", "[pointwise]", f32, tf32, bf16, f16, fp8_e4m3,
                   fp8_e5m2) {
  check_casts_from<TestType>();
}

TEST_CASE("copies are slices of any shape, and keep the code of a NaN", "[pointwise]") {
  Tensor<bf16> x = random_tensor<bf16>(Shape{2, 3, 20}, 1), to(Shape{6, 30});
  x.data()[0].bits = 0x7fab;
  cuda::convert_values(x, to.view().columns_between(4, 20));
  for (std::int64_t r = 0; r < 6; ++r)
    for (std::size_t c = 0; c < 20; ++c) CHECK(to.view().row(r)[c + 4].bits == x.view().row(r)[c].bits);
  CHECK_THROWS_AS(cuda::convert_values(x, to.view()), ShapeError);
}

TEMPLATE_TEST_CASE("the embedding kernel takes rows by number", "[pointwise]", F32, Bf16, F16) {
  using Types = precisions<TestType, Pointwise>;
  using A = typename TestType::activation;
  for (const std::int64_t columns : {1, 37, 64, 5000}) {
    const auto table = random_tensor<bf16>(Shape{11, columns}, 1);
    std::vector<std::int32_t> ids(columns == 37 ? 600 : 4);  // more than travel with one launch
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * 7 + 10) % 11);
    Tensor<A> out(Shape{static_cast<std::int64_t>(ids.size()), columns});
    cuda::embedding<Types, bf16>(table, ids, out);
    std::int64_t wrong = 0;
    for (std::int64_t r = 0; r < out.rows(); ++r)
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c)
        wrong += out.view().row(r)[c] != convert<A>(table.view().row(ids[static_cast<std::size_t>(r)])[c]);
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("the upsampling kernel repeats pixels", "[pointwise]", F32, Bf16) {
  using Types = precisions<TestType, Pointwise>;
  using A = typename TestType::activation;
  for (const std::int64_t channels : {7, 16, 600}) {
    const auto x = random_tensor<A>(Shape{2, 3, 5, channels}, 1);
    for (const std::int64_t factor : {1, 2, 3}) {
      Tensor<A> out(Shape{2, 3 * factor, 5 * factor, channels});
      cuda::upsample_nearest<Types, A>(x, factor, out);
      std::int64_t wrong = 0;
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < 3 * factor; ++h)
          for (std::int64_t w = 0; w < 5 * factor; ++w)
            for (std::int64_t c = 0; c < channels; ++c)
              wrong += !(out.data()[((b * 3 * factor + h) * 5 * factor + w) * channels + c] ==
                         x.data()[((b * 3 + h / factor) * 5 + w / factor) * channels + c]);
      CHECK(wrong == 0);
    }
  }
}
