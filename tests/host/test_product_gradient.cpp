// Products of gradients: of few rows, and a sum over more rows than are transposed together: of a vocabulary,
// what is transposed is not as large as the logits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/products.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/host/matmul/product_gradient.hpp>
#include <precast/memory/memory.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/gradient_options.hpp>

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("a sum over rows whose left side is transposed in parts", "[product_gradient]", f32,
                   bf16) {
  using Types = parameter_gradient_precisions<Policy<Storage<TestType>>, Matmul>;
  constexpr std::int64_t rows = 9001, features = 2051, columns = 3;
  REQUIRE(host::detail::rows_transposed_at_once<f32>(rows) < features);
  const auto a = random_tensor<TestType>({rows, features}, 1),
             b = random_tensor<TestType>({rows, columns}, 2);
  const auto columns_of = [](const auto& matrix) {
    std::vector<std::vector<double>> lists(static_cast<std::size_t>(matrix.columns()));
    const std::vector<double> values = wide(matrix);
    for (std::size_t i = 0; i < values.size(); ++i) lists[i % lists.size()].push_back(values[i]);
    return lists;
  };
  ExpectedSums<Types> once;
  const auto right = columns_of(b);
  for (const std::vector<double>& left : columns_of(a))
    for (const std::vector<double>& column : right) once.add(left.data(), column.data(), rows, 0);

  HostTensor<typename Types::result> out(Shape{features, columns});
  const auto sum = [&](bool accumulate) {
    host::multiply_over_rows<Types>(HostView<const TestType>(a.view()), HostView<const TestType>(b.view()),
                                    GradientOptions{accumulate}, out.view());
  };
  release_cached_memory();
  reset_peak_memory();
  const std::int64_t before = memory_use().in_use;
  sum(false);
  CHECK(memory_use().peak - before < rows * features * std::int64_t{sizeof(f32)} * 3 / 4);
  CHECK(once.outside(out) == "");
  const HostTensor<typename Types::result> first = out.clone();
  sum(true);
  for (std::size_t i = 0; i < out.values().size(); ++i) REQUIRE(out.values()[i] == 2 * first.values()[i]);
}

TEMPLATE_TEST_CASE("gradients of a linear layer of few rows, of which nothing is packed",
                   "[product_gradient]", f32, bf16, f16) {
  const std::int64_t rows = GENERATE(1, 2, 3, 4, 5);
  constexpr std::int64_t features = 77, columns = 531;
  const auto dy = random_tensor<TestType>({rows, features}, 1),
             x = random_tensor<TestType>({rows, columns}, 2),
             weight = random_tensor<TestType>({features, columns}, 3);
  const std::vector<double> left = wide(dy), right = wide(x), matrix = wide(weight);
  const auto column_of = [](const std::vector<double>& values, std::int64_t count, std::int64_t column) {
    std::vector<double> list;
    for (auto i = static_cast<std::size_t>(column); i < values.size(); i += static_cast<std::size_t>(count))
      list.push_back(values[i]);
    return list;
  };

  using Input = with_storage<gradient_precisions<Policy<Storage<TestType>>, Matmul>, TestType>;
  ExpectedSums<Input> of_input;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      of_input.add(left.data() + r * features, column_of(matrix, columns, c).data(), features, 0);
  HostTensor<typename Input::result> dx(Shape{rows, columns});
  host::multiply<Input>(HostView<const TestType>(dy.view()), HostView<const TestType>(weight.view()),
                        dx.view());
  CHECK(of_input.outside(dx) == "");

  using Types = parameter_gradient_precisions<Policy<Storage<TestType>>, Matmul>;
  ExpectedSums<Types> of_weight;
  for (std::int64_t f = 0; f < features; ++f)
    for (std::int64_t c = 0; c < columns; ++c)
      of_weight.add(column_of(left, features, f).data(), column_of(right, columns, c).data(), rows, 0);
  // Of an array whose rows lie apart.
  HostTensor<typename Types::result> all(Shape{features, columns + 3});
  const auto dw = all.view().columns_between(1, columns);
  const auto copied = [&] {
    HostTensor<typename Types::result> copy(Shape{features, columns});
    for (std::int64_t f = 0; f < features; ++f) std::ranges::copy(dw.row(f), copy.view().row(f).begin());
    return copy;
  };
  const auto sum = [&](bool accumulate) {
    host::multiply_over_rows<Types>(HostView<const TestType>(dy.view()), HostView<const TestType>(x.view()),
                                    GradientOptions{accumulate}, dw);
  };
  sum(false);
  const auto first = copied();
  CHECK(of_weight.outside(first) == "");
  sum(true);
  const auto twice = copied();
  for (std::size_t i = 0; i < twice.values().size(); ++i) REQUIRE(twice.values()[i] == 2 * first.values()[i]);
}
