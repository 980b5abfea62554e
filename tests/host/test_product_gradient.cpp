// A sum over more rows than are transposed together: of a vocabulary, what is transposed is not as large as
// the logits.
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
