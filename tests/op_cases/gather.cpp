// Look-ups and enlargement on this translation unit's backend: the very values.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/policy_lists.hpp>
#include <support/arrays.hpp>
#include <support/indices_there.hpp>
#include <support/policies.hpp>

#include <precast/ops/embedding.hpp>
#include <precast/ops/resample.hpp>

using namespace precast;
using namespace precast::testing;

TEMPLATE_LIST_TEST_CASE("embedding takes rows by number", "[pointwise]", PointwisePolicies) {
  using A = typename TestType::activation;
  for (const std::int64_t columns : {1, 7, 37, 64, 5000}) {
    const auto table = random_tensor<typename TestType::storage>({11, columns}, 1);
    std::vector<std::int32_t> ids(columns == 37 ? 600 : 4);  // more than travel with one launch
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * 7 + 10) % 11);
    const auto result = to_host(embedding<TestType>(sent(table), ids));
    REQUIRE(result.shape() == Shape{static_cast<std::int64_t>(ids.size()), columns});
    std::int64_t wrong = 0;
    for (std::int64_t r = 0; r < result.rows(); ++r)
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c)
        wrong += to_double(result.view().row(r)[c]) !=
                 to_double(convert<A>(table.view().row(ids[static_cast<std::size_t>(r)])[c]));
    CHECK(wrong == 0);
    const std::vector<std::int64_t> wide(ids.begin(), ids.end());
    CHECK(same_bits(to_host(embedding<TestType>(sent(table), wide)), result));
    CHECK(embedding<TestType>(sent(table), std::span<const std::int32_t>{}).shape() == Shape{0, columns});
  }
  const Tensor<typename TestType::storage> table(Shape{11, 4});
  const std::vector<std::int64_t> far{3, (std::int64_t{1} << 32) + 3};
  CHECK_THROWS_WITH(embedding<TestType>(table, far),
                    Catch::Contains("embedding: id 4294967299 at place 1 is not one of the table's 11 rows"));
}

TEMPLATE_TEST_CASE("embedding takes numbers from where ops read, and makes NaN of those that are no row's",
                   "[pointwise]", std::int32_t, std::int64_t) {
  using P = Bf16;
  using Number = TestType;
  const std::int64_t columns = GENERATE(1, 37, 64, 5000);
  const auto table = sent(random_tensor<bf16>({11, columns}, 1));
  std::vector<std::int32_t> ids(columns == 37 ? 600 : 5);  // more than travel with one launch
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * 7 + 10) % 11);
  std::vector<Number> numbers(ids.begin(), ids.end());
  numbers[1] = -1;
  numbers[3] = 11;
  const IndicesThere<Number> there(numbers);
  const auto expected = to_host(embedding<P>(table, ids)), found = to_host(embedding<P>(table, there.view()));
  REQUIRE(found.shape() == expected.shape());
  for (std::int64_t r = 0; r < found.rows(); ++r) {
    CAPTURE(r);
    const auto row = found.view().row(r);
    if (r == 1 || r == 3)
      CHECK(std::ranges::all_of(row, [](bf16 value) { return std::isnan(to_double(value)); }));
    else
      CHECK(std::ranges::equal(row, expected.view().row(r)));
  }
  CHECK(embedding<P>(table, Indices<Number>{}).shape() == Shape{0, columns});
  CHECK_THROWS_WITH(embedding<P>(table, Indices<Number>{nullptr, 2}), Catch::Contains("2 ids at nullptr"));
  Tensor<bf16> small(Shape{1, columns});
  CHECK_THROWS_AS(embedding_into<P>(table, there.view(), small.view()), ShapeError);
}

TEMPLATE_LIST_TEST_CASE("upsample_nearest repeats pixels", "[pointwise]", PointwisePolicies) {
  using A = typename TestType::activation;
  for (const std::int64_t channels : {1, 7, 16, 600})
    for (const std::int64_t factor : {1, 2, 3}) {
      const auto x = random_tensor<A>({2, 3, 5, channels}, 1);
      const auto result = to_host(upsample_nearest<TestType>(sent(x), factor));
      REQUIRE(result.shape() == Shape{2, 3 * factor, 5 * factor, channels});
      std::int64_t wrong = 0;
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < 3 * factor; ++h)
          for (std::int64_t w = 0; w < 5 * factor; ++w)
            for (std::int64_t c = 0; c < channels; ++c)
              wrong += !(result.data()[((b * 3 * factor + h) * 5 * factor + w) * channels + c] ==
                         x.data()[((b * 3 + h / factor) * 5 + w / factor) * channels + c]);
      CHECK(wrong == 0);
    }
  CHECK(upsample_nearest<TestType>(Tensor<A>(Shape{0, 3, 5, 7}), 2).shape() == Shape{0, 6, 10, 7});
}

TEMPLATE_LIST_TEST_CASE("upsample_nearest leaves out what lies beyond the edge", "[pointwise]",
                        PointwisePolicies) {
  using A = typename TestType::activation;
  const auto x = random_tensor<A>({2, 3, 5, 7}, 1);
  for (const std::int64_t height : {5, 6})
    for (const std::int64_t width : {9, 10}) {
      Tensor<A> out(Shape{2, height, width, 7});
      upsample_nearest_into<TestType>(sent(x), 2, out.view());
      const auto result = to_host(out);
      std::int64_t wrong = 0;
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < height; ++h)
          for (std::int64_t w = 0; w < width; ++w)
            for (std::int64_t c = 0; c < 7; ++c)
              wrong += !(result.data()[((b * height + h) * width + w) * 7 + c] ==
                         x.data()[((b * 3 + h / 2) * 5 + w / 2) * 7 + c]);
      CHECK(wrong == 0);
    }
}
