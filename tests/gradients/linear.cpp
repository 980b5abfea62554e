// Gradients of linear layers, products and biases against float64.
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <gradients/differences.hpp>
#include <op_cases/run.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/matmul_gradient.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/training_linear.hpp>
#include <precast/policy/training_policies.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using Amp = Policy<Storage<f32>, Compute<f16>>;
using NaiveF16 = Policy<Storage<f16>, Downcast<Matmul, Reduction>>;
using E4m3OfF32 = Policy<Storage<f32>, Compute<fp8_e4m3>>;

using ProductPolicies = std::tuple<F32, Bf16, F16, Tf32, Amp, Bf16OfF32, Bf16InF32, E4m3OfF32, F16Saturate>;

struct ProductCase {
  std::int64_t rows, out, in;
  double scale = 1;
  std::int64_t multiplications() const { return rows * out * in; }
};

/// One value; around panels of 64 columns, pairs, runs of 16 and chunks of 1024 rows; none.
const ProductCase product_cases[] = {{1, 1, 1},     {2, 3, 5},     {3, 17, 33, 1e-3}, {16, 64, 16},
                                     {33, 31, 65},  {65, 129, 63}, {7, 70, 130, 30},  {130, 20, 37},
                                     {5, 200, 300}, {1030, 6, 9},  {2100, 3, 20},     {1025, 65, 70}};

/// x as `Operand` has it.
template <class Operand, class T>
std::vector<double> operands(const HostTensor<T>& x) {
  std::vector<double> values;
  for (const T value : x.values()) values.push_back(to_double(convert<Operand>(convert<f32>(value))));
  return values;
}

/// sum_k a(i, k) b(k, j), and how far sums in f32 may be from it: one rounding for each of the terms.
struct Products {
  std::vector<double> values, bounds;
  template <class A, class B>
  Products(std::int64_t rows, std::int64_t columns, std::int64_t depth, const A& a, const B& b) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += a(i, k) * b(k, j), magnitude += std::abs(a(i, k) * b(k, j));
        values.push_back(sum);
        bounds.push_back(magnitude * unit<f32> * static_cast<double>(depth));
      }
  }
  /// Whether differences say the same of a gradient; of the smaller ones, as each value takes four products.
  void check_differences(const Doubles& x, const Doubles& dy,
                         const std::function<Doubles(const Doubles&)>& forward) const {
    if (values.size() * dy.size() < 4000) CHECK(apart(values, differences(x, dy, forward)) <= 1);
  }
  auto bound() const {
    return [this](std::size_t i) { return bounds[i]; };
  }
  /// The same after a rounding to `Rounded`, where the values are not stored in that.
  template <class Rounded, class Stored>
  auto rounded_bound() const {
    return [this](std::size_t i) {
      if constexpr (std::is_same_v<Rounded, Stored>)
        return bounds[i];
      else
        return bounds[i] + (std::abs(values[i]) + bounds[i]) * unit<Rounded> + smallest<Rounded>;
    };
  }
};

/// x w^T for x [rows, in] and w [out, in], and a b for a [rows, depth] and b [depth, columns], in float64.
Doubles times_transposed(const Doubles& x, const Doubles& w, std::int64_t in) {
  Doubles y;
  for (auto row = x.begin(); row != x.end(); row += in)
    for (auto column = w.begin(); column != w.end(); column += in)
      y.push_back(std::inner_product(row, row + in, column, 0.0));
  return y;
}
Doubles times(const Doubles& a, const Doubles& b, std::int64_t depth) {
  const auto rows = static_cast<std::size_t>(depth), columns = b.size() / rows;
  Doubles turned(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) turned[i % columns * rows + i / columns] = b[i];
  return times_transposed(a, turned, depth);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("linear of a borrowed weight, and its three gradients", "[linear]", ProductPolicies) {
  using A = typename training<TestType>::gradient;
  using W = typename TestType::storage;
  using Forward = typename precisions<TestType, Matmul>::operand;
  using Backward = typename gradient_precisions<TestType, Matmul>::operand;
  using OfParameters = typename training<TestType>::parameter_product;
  static_assert(std::is_same_v<typename training<TestType>::parameter_gradient, f32> &&
                std::is_same_v<typename training<TestType>::product, A>);
  for (const ProductCase& c : affordable(product_cases)) {
    CAPTURE(c.rows, c.out, c.in, c.scale);
    const auto x = random_tensor<A>({c.rows, c.in}, 1, c.scale), dy = random_tensor<A>({c.rows, c.out}, 2);
    const auto w = random_tensor<W>({c.out, c.in}, 3, 1 / std::sqrt(static_cast<double>(c.in))),
               b = random_tensor<W>({c.out}, 4);
    const auto fx = operands<Forward>(x), fw = operands<Forward>(w), gx = operands<Backward>(x),
               gw = operands<Backward>(w), gdy = operands<Backward>(dy);
    const auto at = [](const std::vector<double>& v, std::int64_t i) {
      return v[static_cast<std::size_t>(i)];
    };
    const auto forward = [&] {
      Tensor<A> y(Shape{c.rows, c.out});
      linear_into<TestType>(sent(x), sent(w), sent(b), y);
      return y;
    };
    Products expected(
        c.rows, c.out, c.in, [&](std::int64_t i, std::int64_t k) { return at(fx, i * c.in + k); },
        [&](std::int64_t k, std::int64_t j) { return at(fw, j * c.in + k); });
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      const double bias = to_double(b.values()[i % static_cast<std::size_t>(c.out)]);
      expected.bounds[i] += unit<f32> * (std::abs(expected.values[i]) + std::abs(bias));
      expected.values[i] += bias;
    }
    CHECK(outside(forward(), expected.values, expected.bound()) == "");
    Tensor<A> in_context(Shape{c.rows, c.out});
    linear_into<TestType>(sent(x), sent(w), sent(b), in_context.view(), Context{});
    CHECK(same_bits(in_context, forward()));
    const auto dx = [&] {
      Tensor<A> out(Shape{c.rows, c.in});
      linear_input_gradient_into<TestType>(sent(dy), sent(w), out);
      return out;
    };
    const Products expected_dx(
        c.rows, c.in, c.out, [&](std::int64_t i, std::int64_t k) { return at(gdy, i * c.out + k); },
        [&](std::int64_t k, std::int64_t j) { return at(gw, k * c.in + j); });
    expected_dx.check_differences(gx, gdy,
                                  [&](const Doubles& at_x) { return times_transposed(at_x, gw, c.in); });
    CHECK(outside(dx(), expected_dx.values, expected_dx.bound()) == "");
    check_repeats(dx);
    const auto start = random_tensor<f32>({c.out, c.in}, 5, 3);
    const auto dw = [&](bool accumulate) {
      Tensor<f32> out = sent(start);
      linear_weight_gradient_into<TestType>(sent(dy), sent(x), GradientOptions{accumulate}, out);
      return out;
    };
    Products expected_dw(
        c.out, c.in, c.rows, [&](std::int64_t i, std::int64_t k) { return at(gdy, k * c.out + i); },
        [&](std::int64_t k, std::int64_t j) { return at(gx, k * c.in + j); });
    expected_dw.check_differences(gw, gdy,
                                  [&](const Doubles& at_w) { return times_transposed(gx, at_w, c.in); });
    CHECK(outside(dw(false), expected_dw.values, expected_dw.rounded_bound<OfParameters, f32>()) == "");
    check_repeats([&] { return dw(false); });
    for (std::size_t i = 0; i < expected_dw.values.size(); ++i) expected_dw.values[i] += start.values()[i];
    CHECK(outside(dw(true), expected_dw.values, expected_dw.bound()) == "");
  }
}

TEMPLATE_TEST_CASE("gradients of both sides of a matmul", "[linear]", F32, Bf16, F16) {
  using A = typename training<TestType>::gradient;
  const std::int64_t rows = 2 * 9, depth = 21, columns = 35;
  const auto a = random_tensor<A>({2, 9, depth}, 1), b = random_tensor<A>({depth, columns}, 2),
             dc = random_tensor<A>({2, 9, columns}, 3);
  const auto wa = wide(a), wb = wide(b), wc = wide(dc);
  const auto at = [](const std::vector<double>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  Tensor<A> da(a.shape()), db(b.shape());
  matmul_left_gradient_into<TestType>(sent(dc), sent(b), da);
  matmul_right_gradient_into<TestType>(sent(a), sent(dc), db);
  const Products left(
      rows, depth, columns, [&](std::int64_t i, std::int64_t k) { return at(wc, i * columns + k); },
      [&](std::int64_t k, std::int64_t j) { return at(wb, j * columns + k); });
  const Products right(
      depth, columns, rows, [&](std::int64_t i, std::int64_t k) { return at(wa, k * depth + i); },
      [&](std::int64_t k, std::int64_t j) { return at(wc, k * columns + j); });
  CHECK(apart(left.values, differences(wa, wc, [&](const Doubles& x) { return times(x, wb, depth); })) <= 1);
  CHECK(apart(right.values, differences(wb, wc, [&](const Doubles& x) { return times(wa, x, depth); })) <= 1);
  CHECK(outside(da, left.values, left.bound()) == "");
  CHECK(outside(db, right.values, right.bound()) == "");
}

TEST_CASE("gradients of slices of columns, and of no rows", "[linear]") {
  const auto dy = random_tensor<f32>({6, 20}, 1), x = random_tensor<f32>({6, 30}, 2);
  const Tensor<f32> there_dy = sent(dy), there_x = sent(x);
  const auto copy = [](const HostTensor<f32>& all, std::int64_t first, std::int64_t count) {
    HostTensor<f32> part(Shape{all.rows(), count});
    for (std::int64_t r = 0; r < all.rows(); ++r)
      for (std::int64_t c = 0; c < count; ++c)
        part.data()[r * count + c] = all.data()[r * all.columns() + first + c];
    return part;
  };
  Tensor<f32> of_slices(Shape{7, 13}), of_copies(Shape{7, 13});
  linear_weight_gradient_into<F32>(there_dy.view().columns_between(3, 7),
                                   there_x.view().columns_between(5, 13), GradientOptions{}, of_slices);
  linear_weight_gradient_into<F32>(sent(copy(dy, 3, 7)), sent(copy(x, 5, 13)), GradientOptions{}, of_copies);
  CHECK(same_bits(of_slices, of_copies));
  Tensor<f32> none = sent(filled<f32>({7, 13}, 3));
  const Tensor<f32> no_dy(Shape{0, 7}), no_x(Shape{0, 13});
  linear_weight_gradient_into<F32>(no_dy, no_x, GradientOptions{.accumulate = true}, none);
  CHECK(wide(none)[5] == 3);
  linear_weight_gradient_into<F32>(no_dy, no_x, GradientOptions{}, none);
  CHECK(wide(none) == std::vector<double>(7 * 13, 0.0));
  // Rows of no values are rows too: a weight of no columns has a gradient of none.
  const Tensor<f32> of_nothing(Shape{6, 0});
  Tensor<f32> empty(Shape{20, 0});
  linear_weight_gradient_into<F32>(there_dy, of_nothing, {}, empty);
  matmul_right_gradient_into<F32>(of_nothing, there_dy, empty.view().reshaped({0, 20}));
  CHECK_THROWS_WITH(linear_weight_gradient_into<F32>(no_dy, of_nothing, {}, empty),
                    Catch::Contains("[0, 7] and [6, 0] do not have as many rows"));
}

TEST_CASE("linear layers round to the training table's dtypes for products, wherever they store",
          "[linear]") {
  using P = training_policy_named<"amp-f16">;
  using Dtypes = training<P>;
  CHECK(dtype_name<typename Dtypes::product>() == "f16");
  CHECK(dtype_name<typename Dtypes::parameter_product>() == "f16");
  static_assert(std::is_same_v<precisions<P, Matmul>::result, f32>);
  static_assert(std::is_same_v<Dtypes::parameter_gradient, f32>);
  // 2049 is halfway between numbers of f16.
  const auto of = [](const Shape& shape, const std::vector<f32>& values) {
    return Tensor<f32>(shape, values);
  };
  const Tensor<f32> row = of({1, 2}, {2048, 1}), column = of({2, 1}, {2048, 1}), ones = of({1, 2}, {1, 1}),
                    upright = of({2, 1}, {1, 1}), one = of({1}, {1}), large = of({1, 1}, {2048});
  Tensor<f32> out(Shape{1, 1}), vector(Shape{1});
  linear_into<P>(row, ones, out);
  CHECK(wide(out)[0] == 2048);
  linear_into<P>(large, of({1, 1}, {1}), one, out);
  CHECK(wide(out)[0] == 2048);
  linear_input_gradient_into<P>(row, upright, out);
  CHECK(wide(out)[0] == 2048);
  linear_weight_gradient_into<P>(column, upright, {}, out);
  CHECK(wide(out)[0] == 2048);
  bias_gradient_into<P>(column, {}, vector);
  CHECK(wide(vector)[0] == 2048);
  // Sums over batches keep what is below half of a unit of f16 in the last place.
  Tensor<f32> added = of({1, 1}, {2048}), added_vector = of({1}, {2048});
  for (int batch = 0; batch < 3; ++batch) {
    linear_weight_gradient_into<P>(of({1, 1}, {1}), of({1, 1}, {1}), {.accumulate = true}, added);
    bias_gradient_into<P>(of({1, 1}, {1}), {.accumulate = true}, added_vector);
  }
  CHECK(wide(added)[0] == 2051);
  CHECK(wide(added_vector)[0] == 2051);
  // An operand of add() is no parameter of a product.
  broadcast_gradient_into<P>(column, {}, vector);
  CHECK(wide(vector)[0] == 2049);
  // Beyond f16's range.
  linear_into<P>(large, of({1, 1}, {32}), out);
  CHECK(wide(out)[0] == HUGE_VAL);
  linear_into<Policy<Storage<f32>, Compute<f16>, Activation<f32>, Overflow<Saturate>>>(large,
                                                                                       of({1, 1}, {32}), out);
  CHECK(wide(out)[0] == 65504);
  // bf16 has f32's range: results keep their digits, gradients of parameters do not.
  using Bf16InF32Amp = training_policy_named<"amp-bf16">;
  linear_into<Bf16InF32Amp>(row, ones, out);
  CHECK(wide(out)[0] == 2049);
  linear_weight_gradient_into<Bf16InF32Amp>(column, upright, {}, out);
  CHECK(wide(out)[0] == 2048);
}

TEST_CASE("linear layers round rows that lie apart, and nothing between them", "[linear]") {
  using P = training_policy_named<"amp-f16">;
  const std::int64_t rows = 5, columns = 37, apart = 50;
  const auto x = random_tensor<f32>({rows, 16}, 1), w = random_tensor<f32>({columns, 16}, 2),
             start = random_tensor<f32>({rows, apart}, 3);
  Tensor<f32> all = sent(start), dense(Shape{rows, columns});
  linear_into<P>(sent(x), sent(w), dense);
  linear_into<P>(sent(x), sent(w), all.view().columns_between(3, columns));
  const auto got = to_host(all);
  CHECK(wide(got.view().columns_between(3, columns)) == wide(dense));
  for (const double value : wide(dense)) CHECK(to_double(from_double<f16>(value)) == value);
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3 + columns, 10}})
    CHECK(wide(got.view().columns_between(first, count)) == wide(start.view().columns_between(first, count)));
}

TEST_CASE("naive f16 keeps a weight's gradient, and its sums, in f16", "[linear]") {
  static_assert(std::is_same_v<training<NaiveF16>::parameter_gradient, f16>);
  static_assert(std::is_same_v<training<NaiveF16>::master, f16>);
  static_assert(std::is_same_v<training<Amp>::master, f32>);
  // 4096 products of 1: f16 stops counting at 2048.
  const auto ones = filled<f16>({4096, 1}, 1);
  Tensor<f16> narrow(Shape{1, 1}), narrow_bias(Shape{1});
  linear_weight_gradient_into<NaiveF16>(sent(ones), sent(ones), GradientOptions{}, narrow);
  CHECK(wide(narrow)[0] == 2048);
  Tensor<f32> sum(Shape{1, 1});
  linear_weight_gradient_into<F16>(sent(ones), sent(ones), GradientOptions{}, sum);
  CHECK(wide(sum)[0] == 4096);
  // Sums of a bias: 128 partial sums, each of which f16 holds; their total of 1e5 it does not.
  const auto many = filled<f16>({1000, 1}, 100);
  bias_gradient_into<NaiveF16>(sent(many), GradientOptions{}, narrow_bias);
  CHECK(wide(narrow_bias)[0] == HUGE_VAL);
  Tensor<f32> total(Shape{1});
  broadcast_gradient_into<F16>(sent(many), GradientOptions{}, total);
  CHECK(wide(total)[0] == 100000);
}

TEST_CASE("the gradient of a bias keeps its accuracy over very many rows", "[linear]") {
  // Equal values, whose rounding errors all have the same sign.
  const std::int64_t rows = 128 * 64 * 64 + 128 * 64 + 77;
  const auto dy = filled<f32>({rows, 2}, 0.1f);
  Tensor<f32> bias(Shape{2});
  bias_gradient_into<F32>(sent(dy), GradientOptions{}, bias);
  const double expected = static_cast<double>(rows) * double{0.1f};
  // Additions that a term goes through: a block's, those of blocks, three, and those of the partial sums.
  for (const double sum : wide(bias))
    CHECK(std::abs(sum - expected) <= expected * unit<f32> * (64 + 64 + 3 + 7));
}

TEST_CASE("the gradient of what add() broadcasts goes to rows that lie apart", "[linear]") {
  const std::int64_t tokens = 5, columns = 12, apart = 19;
  const auto dy = random_tensor<f32>({2, tokens, columns}, 1), start = random_tensor<f32>({tokens, apart}, 2);
  for (const bool accumulate : {false, true}) {
    Tensor<f32> whole = sent(start), dense(Shape{tokens, columns});
    copy_into<F32>(whole.view().columns_between(3, columns), dense.view());
    broadcast_gradient_into<F32>(sent(dy), GradientOptions{accumulate}, dense);
    broadcast_gradient_into<F32>(sent(dy), GradientOptions{accumulate},
                                 whole.view().columns_between(3, columns));
    const auto got = to_host(whole);
    CHECK(wide(got.view().columns_between(3, columns)) == wide(dense));
    for (const std::int64_t first : {std::int64_t{0}, 3 + columns})
      CHECK(wide(got.view().columns_between(first, 3)) == wide(start.view().columns_between(first, 3)));
  }
}

TEMPLATE_TEST_CASE("the gradient of a bias, or of what add() broadcasts, is the sum of rows", "[linear]", F32,
                   Bf16, F16) {
  using A = typename training<TestType>::gradient;
  const std::tuple<std::int64_t, std::int64_t, std::int64_t> sizes[] = {
      {1, 1, 1}, {3, 5, 7}, {2, 64, 33}, {5, 130, 70}, {700, 1, 3}, {2, 3, 2500}};
  for (const auto& [batch, tokens, columns] : sizes) {
    if (emulated && batch * tokens * columns > 10000) continue;
    CAPTURE(batch, tokens, columns);
    const auto dy = random_tensor<A>({batch, tokens, columns}, 1, 1, 0.5);
    const auto values = wide(dy);
    const auto start = random_tensor<f32>({tokens, columns}, 2);
    for (const bool each_token : {false, true})
      for (const bool accumulate : {false, true}) {
        const std::int64_t repeated = each_token ? tokens * columns : columns;
        const Shape shape = each_token ? Shape{tokens, columns} : Shape{columns};
        std::vector<double> expected(static_cast<std::size_t>(repeated)), magnitudes(expected.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          expected[i % expected.size()] += values[i];
          magnitudes[i % expected.size()] += std::abs(values[i]);
        }
        if (values.size() < 200)
          CHECK(apart(expected, differences(Doubles(expected.size()), values, [&](const Doubles& bias) {
                        Doubles sums;
                        for (std::size_t i = 0; i < values.size(); ++i)
                          sums.push_back(bias[i % expected.size()]);
                        return sums;
                      })) <= 1);
        const auto run = [&] {
          Tensor<f32> out(shape, start.values().first(expected.size()));
          broadcast_gradient_into<TestType>(sent(dy), GradientOptions{accumulate}, out);
          return out;
        };
        if (!each_token) {
          Tensor<f32> bias(shape, start.values().first(expected.size()));
          bias_gradient_into<TestType>(sent(dy), GradientOptions{accumulate}, bias);
          std::vector<double> rounded = wide(run());
          for (double& sum : rounded)
            if (!accumulate)
              sum = to_double(from_double<typename training<TestType>::parameter_product>(sum));
          CHECK(wide(bias) == rounded);
        }
        const double terms = static_cast<double>(values.size()) / static_cast<double>(repeated);
        for (std::size_t i = 0; accumulate && i < expected.size(); ++i) {
          expected[i] += start.values()[i];
          magnitudes[i] += std::abs(start.values()[i]);
        }
        CHECK(outside(run(), expected, [&](std::size_t i) {
                return magnitudes[i] * unit<f32> * (1 + terms / 128 + 8);
              }) == "");
        check_repeats(run);
      }
  }
}
