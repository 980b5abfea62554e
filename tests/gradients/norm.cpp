// Gradients of layer and RMS normalisation against finite differences in float64.
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <gradients/differences.hpp>
#include <op_cases/run.hpp>
#include <support/arrays.hpp>
#include <support/norm_reference.hpp>
#include <support/policies.hpp>

#include <precast/ops/norm_gradient.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct NormCase {
  std::int64_t rows, columns, run;  ///< values that are normalised together: all columns of a layer norm
  double deviation = 1, mean = 0;
};

const NormCase norm_cases_of_gradients[] = {
    {1, 1, 1},         {1, 2, 2},   {3, 5, 5},     {4, 33, 33},
    {2, 64, 64, 1e-2}, {3, 65, 65}, {2, 7, 7, 30}, {2, 130, 130, 1, 100},
    {140, 3, 3},       {2, 12, 4}};

/// Gradients of one row by differences, and of weight and bias from what it is normalised to.
struct ExpectedGradients {
  Doubles dx, bound_x, dweight, bound_weight, dbias, bound_bias;

  ExpectedGradients(const NormCase& c, bool centred, const Doubles& x, const Doubles& w, const Doubles& dy,
                    double eps)
      : dweight(w.size()), bound_weight(w.size()), dbias(w.size()), bound_bias(w.size()) {
    for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(c.run)) {
      const auto part = [&](const Doubles& of) {
        return Doubles(of.begin() + static_cast<std::ptrdiff_t>(first),
                       of.begin() + static_cast<std::ptrdiff_t>(first) + c.run);
      };
      add(part(x), w, part(dy), centred, eps, static_cast<double>(x.size()) / static_cast<double>(w.size()));
    }
  }

 private:
  void add(const Doubles& x, const Doubles& w, const Doubles& dy, bool centred, double eps, double terms) {
    const NormReference reference(x);
    const double spread = std::sqrt((centred ? reference.variance : reference.mean_square) + eps);
    const auto normalise = [&](const Doubles& values) {
      const NormReference r(values);
      Doubles y;
      for (std::size_t i = 0; i < values.size(); ++i)
        y.push_back((values[i] - (centred ? r.mean : 0)) /
                    std::sqrt((centred ? r.variance : r.mean_square) + eps) * w[i]);
      return y;
    };
    // In units of the deviation, so that steps of the differences suit it.
    Doubles scaled = x;
    for (double& value : scaled) value /= spread;
    const Doubles gradient = differences(scaled, dy, [&](const Doubles& at) {
      Doubles values = at;
      for (double& value : values) value *= spread;
      return normalise(values);
    });
    const auto n = static_cast<double>(x.size());
    double mean = 0, along = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      mean += std::abs(dy[i] * w[i]) / n;
      along += std::abs(dy[i] * normalise(x)[i]) / n;
    }
    const double most =
        std::abs(reference.mean) / spread;  // x's own rounding is given, and the mean's is not
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double normalised = (x[i] - (centred ? reference.mean : 0)) / spread;
      dx.push_back(gradient[i] / spread);
      const double roundings = norm_roundings * unit<f32> * (1 + unit<f32> * most);
      bound_x.push_back((roundings + 1e-9) *
                        (std::abs(dy[i] * w[i]) + mean + (1 + std::abs(normalised)) * (along + mean)) /
                        spread);
      dweight[i] += dy[i] * normalised;
      bound_weight[i] +=
          (roundings + unit<f32> * (terms / 128 + 8)) * std::abs(dy[i]) * (std::abs(normalised) + 1);
      dbias[i] += dy[i];
      bound_bias[i] += unit<f32> * (terms / 128 + 8) * std::abs(dy[i]);
    }
  }
};

}  // namespace

TEMPLATE_TEST_CASE("gradients of layer_norm and rms_norm follow finite differences", "[norm]", F32, Bf16, F16,
                   Bf16InF32) {
  using A = typename training<TestType>::gradient;
  const double eps = 1e-5;
  for (const NormCase& c : norm_cases_of_gradients) {
    CAPTURE(c.rows, c.columns, c.run, c.deviation, c.mean);
    const auto x = random_tensor<A>({c.rows, c.columns}, 1, c.deviation, c.mean),
               dy = random_tensor<A>({c.rows, c.columns}, 2);
    const auto w = random_tensor<f32>({c.run}, 3, 0.2, 1);
    const auto start = random_tensor<f32>({c.run}, 4);
    const double exact_eps = static_cast<double>(static_cast<f32>(eps));
    Tensor<A> dx(x.shape());
    if (c.run == c.columns) {
      const ExpectedGradients expected(c, true, wide(x), wide(w), wide(dy), exact_eps);
      Tensor<f32> dw(w.shape()), db(w.shape());
      const auto run = [&] {
        layer_norm_gradient_into<TestType>(sent(dy), sent(x), sent(w), NormGradientOptions{.eps = eps}, dx,
                                           dw, db);
        return dw.clone();
      };
      CHECK(outside(run(), expected.dweight, [&](std::size_t i) { return expected.bound_weight[i]; }) == "");
      CHECK(outside(dx, expected.dx, [&](std::size_t i) { return expected.bound_x[i]; }) == "");
      CHECK(outside(db, expected.dbias, [&](std::size_t i) { return expected.bound_bias[i]; }) == "");
      check_repeats(run);
      // Without parameters, and with a weight of 1.
      Tensor<A> plain(x.shape()), of_ones(x.shape());
      layer_norm_gradient_into<TestType>(sent(dy), sent(x), {.eps = eps}, plain);
      layer_norm_gradient_into<TestType>(sent(dy), sent(x), sent(filled<f32>(w.shape(), 1)),
                                         NormGradientOptions{.eps = eps}, of_ones, dw, db);
      CHECK(same_bits(plain, of_ones));
    }
    const ExpectedGradients expected(c, false, wide(x), wide(w), wide(dy), exact_eps);
    for (const bool accumulate : {false, true}) {
      Tensor<f32> dw = sent(start);
      rms_norm_gradient_into<TestType>(sent(dy), sent(x), sent(w),
                                       NormGradientOptions{.eps = eps, .accumulate = accumulate}, dx, dw);
      CHECK(outside(dx, expected.dx, [&](std::size_t i) { return expected.bound_x[i]; }) == "");
      auto sum = expected.dweight, bound = expected.bound_weight;
      for (std::size_t i = 0; accumulate && i < sum.size(); ++i) {
        sum[i] += start.values()[i];
        bound[i] += unit<f32> * std::abs(start.values()[i]);
      }
      CHECK(outside(dw, sum, [&](std::size_t i) { return bound[i]; }) == "");
    }
  }
}

TEST_CASE("Downcast<Norm> keeps the sums of a norm's gradient in f16", "[norm]") {
  using Naive = Policy<Storage<f16>, Downcast<Norm>, Activation<f32>>;
  using Wide = Policy<Storage<f16>, Activation<f32>>;
  // Terms of 60000 with both signs: their sum in f16 leaves its range where two of a partial sum meet.
  HostTensor<f32> x(Shape{1, 512}), dy(Shape{1, 512});
  for (std::int64_t i = 0; i < 512; ++i) {
    x.data()[i] = i % 2 ? 1.0f : -1.0f;
    dy.data()[i] = i < 256 ? 60000.0f : -60000.0f;
  }
  Tensor<f32> narrow(x.shape()), full(x.shape());
  layer_norm_gradient_into<Naive>(sent(dy), sent(x), {.eps = 1e-5}, narrow);
  layer_norm_gradient_into<Wide>(sent(dy), sent(x), {.eps = 1e-5}, full);
  CHECK(std::isfinite(wide(full)[0]));
  CHECK(!std::isfinite(wide(narrow)[0]));
}
