// Gradients of what has a row for each token, losses, look-ups and positions, against float64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <gradients/differences.hpp>
#include <op_cases/run.hpp>
#include <support/arrays.hpp>
#include <support/indices_there.hpp>
#include <support/norm_reference.hpp>
#include <support/policies.hpp>

#include <precast/ops/embedding_gradient.hpp>
#include <precast/ops/loss_gradient.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/rotary_gradient.hpp>

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("the gradient of the cross entropy", "[loss]", F32, Bf16, F16, Bf16InF32) {
  using A = typename training<TestType>::gradient;
  const std::tuple<std::int64_t, std::int64_t, double> sizes[] = {
      {1, 1, 1}, {1, 2, 1}, {5, 7, 1}, {3, 33, 20}, {4, 300, 5}, {2, 5000, 3}, {600, 3, 1}};
  for (const auto& [rows, classes, scale] : sizes) {
    if (emulated && rows * classes > 8000) continue;
    CAPTURE(rows, classes, scale);
    const auto x = random_tensor<A>({rows, classes}, 1, scale);
    const auto logits = wide(x);
    std::vector<std::int64_t> targets;
    for (std::int64_t r = 0; r < rows; ++r) targets.push_back(r % 4 == 1 ? -100 : r * 7919 % classes);
    double kept = 0;
    for (const std::int64_t target : targets) kept += target >= 0;
    const double loss_scale = 1024;
    std::vector<double> expected, bounds;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto row = row_of(logits, r, classes);
      const double most = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (const double each : row) sum += std::exp(each - most);
      for (std::int64_t c = 0; c < classes; ++c) {
        const std::int64_t target = targets[static_cast<std::size_t>(r)];
        const double below = most - row[static_cast<std::size_t>(c)], p = std::exp(-below) / sum;
        const double factor = target < 0 ? 0 : loss_scale / std::max(kept, 1.0);
        expected.push_back((p - (c == target)) * factor);
        // Rounding of x - max shifts the exponent; exp, the sum's tree, the quotient; the difference, the
        // product.
        bounds.push_back(factor *
                         (unit<f32> * (p * (below + 8 + norm_roundings) + 3 * std::abs(p - (c == target))) +
                          std::exp(-86.0)));
      }
    }
    const auto loss = [&, width = classes](const Doubles& at) {
      double all = 0;
      for (std::size_t r = 0; r < targets.size(); ++r) {
        if (targets[r] < 0) continue;
        const auto row = row_of(at, static_cast<std::int64_t>(r), width);
        double sum = 0;
        for (const double each : row) sum += std::exp(each);
        all += std::log(sum) - row[static_cast<std::size_t>(targets[r])];
      }
      return Doubles{all / kept};
    };
    if (rows * classes < 2000) CHECK(apart(expected, differences(logits, {loss_scale}, loss)) <= 1);
    const auto run = [&] {
      Tensor<A> out(x.shape());
      cross_entropy_gradient_into<TestType>(static_cast<f32>(loss_scale), sent(x), targets,
                                            CrossEntropyOptions{}, out);
      return out;
    };
    CHECK(outside(run(), expected, [&](std::size_t i) { return bounds[i]; }) == "");
    check_repeats(run);
  }
}

TEST_CASE("the gradient of a cross entropy of ignored rows alone is 0, and NaN of logits goes through",
          "[loss]") {
  auto x = random_tensor<f32>({2, 5}, 1);
  Tensor<f32> out(x.shape());
  cross_entropy_gradient_into<F32>(1.0f, sent(x), std::vector<std::int32_t>{-100, -100},
                                   CrossEntropyOptions{}, out);
  CHECK(wide(out) == std::vector<double>(10, 0.0));
  x.data()[2] = std::numeric_limits<f32>::infinity();
  cross_entropy_gradient_into<F32>(1.0f, sent(x), std::vector<std::int32_t>{1, 1}, CrossEntropyOptions{},
                                   out);
  CHECK(std::isnan(wide(out)[0]));
  CHECK(std::isfinite(wide(out)[5]));
  const std::vector<std::int32_t> beyond{1, 5};
  CHECK_THROWS_AS(cross_entropy_gradient_into<F32>(1.0f, sent(x), beyond, {}, out), InputError);
  CHECK_THROWS_WITH(cross_entropy_gradient_into<F32>(1.0f, sent(x), beyond, {}, out),
                    Catch::StartsWith("cross_entropy_gradient: target 5 of row 1"));
}

TEMPLATE_TEST_CASE("gradients of tokens read their numbers where their kernels do", "[loss][gather]",
                   std::int32_t, std::int64_t) {
  const std::int64_t rows = 600, classes = 6;
  const auto x = random_tensor<f32>({rows, classes}, 1);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(rows));
  for (std::int32_t r = 0; r < rows; ++r) numbers[static_cast<std::size_t>(r)] = r % 5 == 3 ? -1 : r * r % 6;
  const IndicesThere<TestType> there(std::vector<TestType>(numbers.begin(), numbers.end()));
  Tensor<f32> from_host(x.shape()), found(x.shape());
  // Rows of the result that go backwards, more of them than one launch has targets for.
  const View<f32> backwards(found.view().data() + (rows - 1) * classes, found.shape(), -classes);
  cross_entropy_gradient_into<F32>(2.0f, sent(x), numbers, {.ignore_index = -1}, from_host);
  cross_entropy_gradient_into<F32>(2.0f, sent(x), there.view(), {.ignore_index = -1}, found);
  CHECK(same_bits(to_host(found), to_host(from_host)));
  const auto forwards = wide(from_host);
  cross_entropy_gradient_into<F32>(2.0f, sent(x), numbers, {.ignore_index = -1}, backwards);
  const auto turned = wide(found);
  std::int64_t wrong = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < classes; ++c)
      wrong += turned[static_cast<std::size_t>((rows - 1 - r) * classes + c)] !=
               forwards[static_cast<std::size_t>(r * classes + c)];
  CHECK(wrong == 0);
  // Where -1 is not ignored it is no class.
  cross_entropy_gradient_into<F32>(2.0f, sent(x), there.view(), {}, found);
  const auto values = wide(found);
  for (std::size_t i = 0; i < values.size(); ++i)
    wrong += std::isnan(values[i]) != (i / static_cast<std::size_t>(classes) % 5 == 3);
  CHECK(wrong == 0);

  const auto start = random_tensor<f32>({6, classes}, 2);
  std::vector<TestType> ids(numbers.begin(), numbers.end());
  ids[8] = 6;  // no row of the table, as -1 is none
  const IndicesThere<TestType> ids_there(ids);
  for (const bool accumulate : {false, true}) {
    Tensor<f32> expected = sent(start), result = sent(start);
    embedding_gradient_into<F32>(sent(x), numbers, {accumulate}, expected);
    embedding_gradient_into<F32>(sent(x), ids_there.view(), {accumulate}, result);
    CHECK(same_bits(to_host(result), to_host(expected)));
  }
}

TEMPLATE_TEST_CASE("the gradient of an embedding's table adds rows in their order", "[gather]", F32, Bf16,
                   F16) {
  using A = typename training<TestType>::gradient;
  const std::tuple<std::int64_t, std::int64_t, std::int64_t> sizes[] = {
      {1, 1, 1}, {9, 7, 5}, {200, 40, 17}, {700, 3, 4}, {50, 1000, 130}, {0, 4, 3}};
  for (const auto& [count, entries, columns] : sizes) {
    CAPTURE(count, entries, columns);
    const auto dy = random_tensor<A>({count, columns}, 1);
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < count; ++i)
      ids.push_back(static_cast<std::int32_t>(i * i % 11 * 7919 % entries));
    const auto start = random_tensor<f32>({entries, columns}, 2);
    for (const bool accumulate : {false, true}) {
      // One sum after another in f32, exactly as promised.
      std::vector<f32> sums(static_cast<std::size_t>(entries * columns));
      for (std::size_t i = 0; i < ids.size(); ++i)
        for (std::int64_t c = 0; c < columns; ++c)
          sums[static_cast<std::size_t>(ids[i] * columns + c)] +=
              convert<f32>(dy.data()[static_cast<std::int64_t>(i) * columns + c]);
      for (std::size_t i = 0; accumulate && i < sums.size(); ++i) sums[i] = start.values()[i] + sums[i];
      if (!accumulate && count < 10) {
        const Doubles by_differences =
            differences(wide(start), wide(dy), [&, width = columns](const Doubles& table) {
              Doubles read;
              for (const std::int32_t id : ids)
                for (std::int64_t c = 0; c < width; ++c)
                  read.push_back(table[static_cast<std::size_t>(id * width + c)]);
              return read;
            });
        // In f32 each row that is added rounds once.
        CHECK(distance(Doubles(sums.begin(), sums.end()), by_differences) <=
              (static_cast<double>(count) * unit<f32> + 1e-9) * length(wide(dy)));
      }
      const auto run = [&] {
        Tensor<f32> out = sent(start);
        embedding_gradient_into<TestType>(sent(dy), ids, GradientOptions{accumulate}, out);
        return out;
      };
      CHECK(wide(run()) == std::vector<double>(sums.begin(), sums.end()));
      check_repeats(run);
    }
  }
  Tensor<f32> out(Shape{4, 1});
  const std::vector<std::int32_t> outside_of_it{4};
  CHECK_THROWS_AS(
      embedding_gradient_into<TestType>(Tensor<A>(Shape{1, 1}), outside_of_it, GradientOptions{}, out),
      InputError);
  const std::vector<std::int32_t> below{-2};
  CHECK_THROWS_AS(embedding_gradient_into<TestType>(Tensor<A>(Shape{1, 1}), below, GradientOptions{}, out),
                  InputError);
}

TEST_CASE("tokens without a gradient leave their row of an embedding's table alone", "[gather]") {
  const std::int64_t columns = 5;
  const auto start = random_tensor<f32>({4, columns}, 2);
  for (const std::vector<std::int32_t>& ids :
       {std::vector<std::int32_t>{embedding_without_gradient, 2, 0, embedding_without_gradient, 2, 3},
        std::vector<std::int32_t>(6, embedding_without_gradient)})
    for (const bool accumulate : {false, true}) {
      const auto dy = random_tensor<f32>({6, columns}, 1);
      std::vector<double> expected(static_cast<std::size_t>(4 * columns));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto row = static_cast<std::int32_t>(i) / static_cast<std::int32_t>(columns);
        f32 sum = 0;
        for (std::size_t n = 0; n < ids.size(); ++n)
          if (ids[n] == row)
            sum += dy.values()[n * static_cast<std::size_t>(columns) + i % static_cast<std::size_t>(columns)];
        expected[i] = static_cast<double>(accumulate ? start.values()[i] + sum : sum);
      }
      const auto run = [&] {
        Tensor<f32> out = sent(start);
        embedding_gradient_into<F32>(sent(dy), ids, GradientOptions{accumulate}, out);
        return out;
      };
      CHECK(wide(run()) == expected);
      check_repeats(run);
      const std::vector<std::int64_t> wide_ids(ids.begin(), ids.end());
      Tensor<f32> of_wide_ids = sent(start);
      embedding_gradient_into<F32>(sent(dy), wide_ids, GradientOptions{accumulate}, of_wide_ids);
      CHECK(wide(of_wide_ids) == expected);
    }
  // -1 once narrowed, and a row of no gradient.
  const std::vector<std::int64_t> far{(std::int64_t{1} << 32) - 1};
  Tensor<f32> out(Shape{4, columns});
  CHECK_THROWS_AS(embedding_gradient_into<F32>(Tensor<f32>(Shape{1, columns}), far, {}, out), InputError);
}

TEST_CASE("an embedding's table without columns has no gradient", "[gather]") {
  const std::vector<std::int32_t> ids{2, 0, embedding_without_gradient};
  Tensor<f32> out(Shape{3, 0});
  CHECK_NOTHROW(embedding_gradient_into<F32>(sent(HostTensor<f32>(Shape{3, 0})), ids, {}, out.view()));
  CHECK_THROWS_AS(embedding_gradient_into<F32>(sent(HostTensor<f32>(Shape{3, 1})), ids, {}, out.view()),
                  ShapeError);
  const std::vector<std::int32_t> beyond{3};
  CHECK_THROWS_AS(embedding_gradient_into<F32>(sent(HostTensor<f32>(Shape{1, 0})), beyond, {}, out.view()),
                  InputError);
}

static_assert(!std::is_convertible_v<RotaryTableOfHalves, RotaryTable> &&
                  !std::is_convertible_v<RotaryTable, RotaryTableOfHalves>,
              "a table of one layout is none of the other");

TEST_CASE("rotary embeddings of halves are those of neighbours in another order, and turn back",
          "[position]") {
  const std::int64_t width = 6, heads = 3, tokens = 5;
  const auto x = random_tensor<f32>({2, tokens, heads * width}, 1);
  const std::vector<f32> positions{0, 1, 2, 30, 1000};
  const RotaryTableOfHalves halves = rotary_table_of_halves(width, 10000, positions);
  const std::vector<std::int64_t> axes{width};
  const RotaryTable neighbours = rotary_table(axes, 10000, positions);
  // Value i of one layout is value place(i) of the other.
  const auto place = [&](std::int64_t i) { return i < width / 2 ? 2 * i : 2 * (i - width / 2) + 1; };
  HostTensor<f32> moved(x.shape());
  for (std::int64_t i = 0; i < x.elements(); ++i)
    moved.data()[i / width * width + place(i % width)] = x.data()[i];
  const auto by_halves = rotary<F32>(sent(x), halves), by_neighbours = rotary<F32>(sent(moved), neighbours);
  Tensor<f32> into_halves(x.shape()), back(x.shape());
  const auto a = wide(by_halves), b = wide(by_neighbours);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    REQUIRE(a[static_cast<std::size_t>(i)] ==
            b[static_cast<std::size_t>(i / width * width + place(i % width))]);
  rotary_into<F32>(sent(x), halves, into_halves);
  CHECK(same_bits(into_halves, by_halves));
  // A rotation's inverse is its transpose: the gradient of what was turned is what went in. Cosines and sines
  // are rounded, and three operations each way.
  rotary_gradient_into<F32>(by_halves, halves, back);
  CHECK(outside(back, wide(x), [&](std::size_t i) {
          const std::size_t pair = i % width < width / 2 ? i + width / 2 : i - width / 2;
          return 8 * unit<f32> * (std::abs(wide(x)[i]) + std::abs(wide(x)[pair]));
        }) == "");
  CHECK_THROWS_AS(rotary_table_of_halves(5, 10000, positions), ShapeError);
}

TEMPLATE_TEST_CASE("the gradients of rotary embeddings of either layout follow finite differences",
                   "[position]", F32, Bf16, F16) {
  using A = typename training<TestType>::gradient;
  const std::int64_t width = 6, heads = 3, tokens = 5;
  const std::vector<f32> positions{0, 1, 2, 30, 1000};
  const std::vector<std::int64_t> axes{width};
  const auto check = [&]<RotaryPairs Pairs>(const RotaryTableOf<Pairs>& table) {
    CAPTURE(Pairs == RotaryPairs::halves);
    const auto cosines = wide(table.cos), sines = wide(table.sin);
    const auto x = random_tensor<A>({2, tokens, heads * width}, 1), dy = random_tensor<A>(x.shape(), 2);
    const auto partner = [&](std::size_t i) {
      if (Pairs == RotaryPairs::neighbours) return i ^ 1;
      return i % width < width / 2 ? i + width / 2 : i - width / 2;
    };
    const Doubles expected = differences(wide(x), wide(dy), [&](const Doubles& at) {
      Doubles turned;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const std::size_t angle = i / (heads * width) % tokens * width + i % width;
        const double sign = partner(i) > i ? -1 : 1;
        turned.push_back(at[i] * cosines[angle] + sign * at[partner(i)] * sines[angle]);
      }
      return turned;
    });
    Tensor<A> dx(x.shape());
    rotary_gradient_into<TestType>(sent(dy), table, dx);
    // Two products and their sum.
    CHECK(outside(dx, expected, [&](std::size_t i) {
            const std::size_t angle = i / (heads * width) % tokens * width + i % width;
            return 3 * unit<f32> *
                       (std::abs(wide(dy)[i] * cosines[angle]) +
                        std::abs(wide(dy)[partner(i)] * sines[angle])) +
                   1e-9;
          }) == "");
  };
  check(rotary_table_of_halves(width, 10000, positions));
  check(rotary_table_of_halves(rotary_frequencies(width, 10000), positions, 1.5));
  check(rotary_table(axes, 10000, positions));
}
