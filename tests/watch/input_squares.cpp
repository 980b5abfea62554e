// InputSquares: what linear layers read, column by column.
#include <cstddef>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/policy/presets.hpp>
#include <precast/watch/input_squares.hpp>
#include <precast/watch/scope.hpp>

using namespace precast;
using namespace precast::testing;
using watch::counted_input_squares, watch::CountingInputSquares, watch::InputSquares;

namespace {

/// Counts nothing in particular.
struct Silent : watch::Observer {
  void on_op(const watch::OpRecord&) override {}
};

template <class T>
std::vector<double> squares_of(const HostTensor<T>& x) {
  std::vector<double> sums(static_cast<std::size_t>(x.columns()));
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::size_t c = 0; c < sums.size(); ++c) {
      const double value = to_double(x.view().row(r)[c]);
      sums[c] += value * value;
    }
  return sums;
}

}  // namespace

TEMPLATE_TEST_CASE("input squares: each linear layer's inputs are counted under its path", "[watch]", f32,
                   bf16, f16) {
  using P = Policy<Storage<TestType>>;
  const auto weight_values = random_tensor<TestType>(Shape{24, 130}, 1);
  const LinearWeight<P> weight(weight_values.view()), narrow(weight_values.view().columns_between(0, 40));
  // Few rows, many rows, and rows that lie apart take kernels of their own.
  const auto few = random_tensor<TestType>(Shape{3, 130}, 2),
             many = random_tensor<TestType>(Shape{2, 50, 130}, 3),
             apart = random_tensor<TestType>(Shape{7, 130}, 4);
  const auto run = [&](int threads, InputSquares& counted) {
    host::set_threads(threads);
    std::vector<Tensor<typename P::activation>> results;
    const CountingInputSquares counting(counted);
    const watch::Scope model("model");
    results.push_back(watch::scoped("wide", [&] { return linear<P>(few, weight); }));
    results.push_back(watch::scoped("wide", [&] { return linear<P>(many, weight); }));
    results.push_back(watch::scoped("narrow", [&] {
      return linear<P>(apart.view().columns_between(90, 40), narrow,
                       {.activation = ActivationFunction::silu});
    }));
    results.push_back(
        watch::scoped("no layer", [&] { return matmul_transposed<P>(few, weight_values.view()); }));
    return results;
  };
  InputSquares counted, alone;
  const auto results = run(2, counted);
  run(1, alone);
  REQUIRE(counted.by_path().size() == 2);
  const InputSquares::Sums& both = counted.by_path().at("model.wide");
  std::vector<double> expected = squares_of(few);
  const std::vector<double> more = squares_of(many);
  for (std::size_t c = 0; c < expected.size(); ++c) expected[c] += more[c];
  CHECK(both.rows == 103);
  CHECK(both.calls == 2);
  CHECK(both.squares == expected);
  const InputSquares::Sums& of_columns = counted.by_path().at("model.narrow");
  const std::vector<double> of_all = squares_of(apart);
  CHECK(of_columns.rows == 7);
  CHECK(of_columns.squares == std::vector<double>(of_all.begin() + 90, of_all.end()));
  for (const auto& [path, sums] : alone.by_path()) {
    CHECK(sums.rows == counted.by_path().at(path).rows);
    CHECK(sums.squares == counted.by_path().at(path).squares);
  }

  // Whoever only observes, or does not, has the same results, and nothing is counted.
  const auto plain = linear<P>(many, weight);
  CHECK(wide(plain) == wide(results[1]));
  Silent silent;
  const watch::Watching watching(silent);
  CHECK(counted_input_squares() == nullptr);
  CHECK(wide(linear<P>(many, weight)) == wide(results[1]));
  CHECK(counted.by_path().at("model.wide").rows == 103);
}

TEST_CASE("input squares: who counts, counts for as long as they live", "[watch]") {
  InputSquares outer, inner;
  CHECK(counted_input_squares() == nullptr);
  {
    const CountingInputSquares counting(outer);
    {
      const CountingInputSquares nested(inner);
      CHECK(counted_input_squares() == &inner);
    }
    CHECK(counted_input_squares() == &outer);
  }
  CHECK(counted_input_squares() == nullptr);
}

TEST_CASE("input squares: one path for two widths is an error", "[watch]") {
  using P = Policy<Storage<f32>>;
  const auto values = random_tensor<f32>(Shape{4, 8}, 1);
  const LinearWeight<P> weight(values.view()), narrow(values.view().columns_between(0, 6));
  InputSquares counted;
  const CountingInputSquares counting(counted);
  linear<P>(values, weight);
  CHECK_THROWS_WITH(linear<P>(values.view().columns_between(0, 6), narrow),
                    Catch::Contains("inputs of 8 and of 6 columns"));
}
