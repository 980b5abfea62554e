// Views of pointers with sizes and strides: what fits, what does not, and what is written through them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include <catch2/catch.hpp>

#include <precast/interop/pointer.hpp>

using namespace precast;
using interop::heads_at;
using interop::Strides;
using interop::view_at;

TEST_CASE("a pointer and a shape are a view of the same memory", "[interop]") {
  std::array<f32, 24> values{};
  std::iota(values.begin(), values.end(), 0.0f);
  const auto view = view_at<HostSpace>(values.data(), {2, 3, 4});
  static_assert(std::is_same_v<decltype(view), const HostView<f32>>);
  CHECK(view.shape() == Shape{2, 3, 4});
  CHECK(view.contiguous());
  view.row(5)[3] = -1;
  CHECK(values[23] == -1);
  const std::array<f32, 24>& constant = values;
  static_assert(std::is_same_v<decltype(view_at<DeviceSpace>(constant.data(), {24})), DeviceView<const f32>>);
}

TEST_CASE("a pointer to nothing, or between values, is refused", "[interop]") {
  f32* const null = nullptr;
  CHECK_THROWS_WITH(view_at<HostSpace>(null, {2, 3}), Catch::Contains("view_at: values of shape [2, 3]"));
  CHECK_THROWS_AS(view_at<DeviceSpace>(null, {2, 3}, {4, 1}), InputError);
  CHECK_THROWS_AS(heads_at<HostSpace>(null, {1, 2, 3, 4}), InputError);
  CHECK_THROWS_WITH(heads_at<HostSpace>(null, {1, 2, 3, 4}, {24, 12, 4, 1}), Catch::Contains("heads_at"));
  CHECK(view_at<HostSpace>(null, {0, 3}).elements() == 0);
  alignas(f32) std::array<std::byte, 16> bytes{};
  CHECK_THROWS_WITH(view_at<HostSpace>(reinterpret_cast<f32*>(bytes.data() + 1), {3}),
                    Catch::Contains("their size of 4 bytes"));
}

TEST_CASE("strides of rows at one distance are a view's, and others are refused", "[interop]") {
  std::array<f32, 60> values{};
  std::iota(values.begin(), values.end(), 0.0f);
  const auto view = view_at<HostSpace>(values.data(), {2, 3, 4}, {30, 10, 1});
  CHECK(view.row_stride() == 10);
  CHECK(view.row(4)[2] == 42);
  // What there is one of, or none, has a stride that is never used.
  CHECK(view_at<HostSpace>(values.data(), {2, 1, 4}, {5, 99, 1}).row(1)[0] == 5);
  CHECK(view_at<HostSpace>(values.data(), {1, 2, 1}, {99, 7, 99}).row(1)[0] == 7);
  CHECK(view_at<HostSpace>(values.data(), {1, 2, 1}, {-99, 7, -1}).row(1)[0] == 7);  // a reversed axis of one
  CHECK(view_at<HostSpace>(values.data(), {1, 2, 4}, {INT64_MAX, 4, 1}).row(1)[0] == 4);
  CHECK(view_at<HostSpace>(values.data(), {0, 4}, {-8, 2}).elements() == 0);
  CHECK(view_at<HostSpace>(values.data(), {3}, {1}).row(0).size() == 3);
  CHECK(view_at<HostSpace>(values.data(), {0, 3, 4}, {1, 2, 1}).elements() == 0);
  CHECK_THROWS_WITH(
      view_at<HostSpace>(values.data(), {2, 3, 4}, {31, 10, 1}),
      Catch::Contains("interop: strides [31, 10, 1] of [2, 3, 4]") && Catch::Contains("heads_at"));
  CHECK_THROWS_WITH(view_at<HostSpace>(values.data(), {3, 4}, {8, 2}),
                    Catch::Contains("gaps") && Catch::Contains("copy them"));
  CHECK_THROWS_WITH(view_at<HostSpace>(values.data(), {3, 4}, {-4, 1}), Catch::Contains("backwards"));
  CHECK_THROWS_WITH(view_at<HostSpace>(values.data(), {3, 4}, {1}), Catch::Contains("one for each"));
  CHECK_THROWS_WITH(view_at<HostSpace>(values.data(), {2, 3, 4}, {0, std::int64_t{1} << 62, 1}),
                    Catch::Contains("beyond the address space"));
  CHECK_THROWS_AS(Strides({1, 1, 1, 1, 1, 1, 1}), ShapeError);
}

TEST_CASE("heads lie by any strides", "[interop]") {
  std::array<f32, 200> values{};
  std::iota(values.begin(), values.end(), 0.0f);
  // [B, H, S, D] = [2, 3, 4, 5], seen as [B, S, H, D].
  const auto heads = heads_at<HostSpace>(values.data(), {2, 4, 3, 5}, {60, 5, 20, 1});
  CHECK(heads.row(1, 2, 3)[4] == 60 + 2 * 20 + 3 * 5 + 4);
  CHECK(heads.spanned() == 120);
  CHECK_FALSE(heads.joined());
  const auto joined = heads_at<HostSpace>(values.data(), {2, 4, 3, 5}).joined();
  REQUIRE(joined);
  CHECK(joined->shape() == Shape{2, 4, 15});
  CHECK(joined->row(7)[14] == 119);
  // Rows of 24 with three heads at their start are a slice of columns; pictures further apart are not.
  CHECK(heads_at<HostSpace>(values.data(), {2, 4, 3, 5}, {96, 24, 5, 1}).joined()->row_stride() == 24);
  CHECK_FALSE(heads_at<HostSpace>(values.data(), {2, 4, 3, 5}, {97, 24, 5, 1}).joined());
  CHECK(heads_at<HostSpace>(values.data(), {1, 4, 3, 5}, {-60, 15, 5, 1}).row(0, 2, 3)[4] == 59);
  CHECK(heads_at<HostSpace>(values.data(), {2, 1, 3, 5}, {15, 15, 5, 1}).joined());
  CHECK_THROWS_AS(heads_at<HostSpace>(values.data(), {2, 4, 15}, {60, 15, 1}), ShapeError);
  CHECK_THROWS_AS(heads_at<HostSpace>(values.data(), {2, 4, 3, 5}, {60, 15, 5, 2}), ShapeError);
}

TEST_CASE("a stride that is never stepped is that of rows side by side", "[interop]") {
  std::array<f32, 120> values{};
  const auto strides = [&](const Shape& shape, const Strides& given) {
    const HeadsStrides is = heads_at<HostSpace>(values.data(), shape, given).strides();
    return std::array{is.batch, is.row, is.head};
  };
  // As PyTorch's DLPack gives a dimension of one: with a stride of one.
  CHECK(strides({1, 4, 3, 8}, {1, 24, 8, 1}) == std::array<std::int64_t, 3>{96, 24, 8});
  CHECK(strides({2, 1, 3, 8}, {48, 1, 8, 1}) == std::array<std::int64_t, 3>{48, 48, 8});
  CHECK(strides({2, 4, 1, 8}, {32, 8, 1, 1}) == std::array<std::int64_t, 3>{32, 8, 8});
  CHECK(strides({1, 1, 1, 8}, {1, 1, 1, 1}) == std::array<std::int64_t, 3>{8, 8, 8});
  // As an array that was turned round has it.
  CHECK(strides({1, 4, 3, 8}, {-96, 24, 8, 1}) == std::array<std::int64_t, 3>{96, 24, 8});
  CHECK(strides({2, 1, 3, 8}, {24, -24, 8, 1}) == std::array<std::int64_t, 3>{24, 24, 8});
  CHECK(strides({2, 4, 1, 8}, {32, 8, -8, 1}) == std::array<std::int64_t, 3>{32, 8, 8});
  CHECK(heads_at<HostSpace>(values.data(), {2, 1, 3, 8}, {24, 1, 8, 1}).joined());
}

TEST_CASE("heads are made of views", "[interop]") {
  std::array<f32, 120> values{};
  std::iota(values.begin(), values.end(), 0.0f);
  const HostView<f32> rows(values.data(), {2, 4, 15}), four(values.data(), {2, 3, 4, 5});
  CHECK(split_heads(rows, 3).row(1, 2, 3)[4] == 60 + 3 * 15 + 2 * 5 + 4);
  CHECK(rows_of_heads(four).row(1, 3, 2)[4] == 119);
  CHECK(heads_of_rows(four).row(1, 2, 3)[4] == 119);
  CHECK(heads_of_rows(four).row(0, 1, 0)[0] == 20);
  const HeadsViewIn<const f32, HostSpace> constant = split_heads(rows, 3);
  CHECK(constant.data() == values.data());
  CHECK_THROWS_WITH(
      split_heads(rows, 4),
      Catch::Contains("4 heads do not divide [2, 4, 15]: name in attention's options the heads"));
  CHECK_THROWS_AS(split_heads(rows, 0), ShapeError);
  CHECK_THROWS_AS(split_heads(four, 1), ShapeError);
  CHECK_THROWS_AS(rows_of_heads(rows), ShapeError);
  CHECK_THROWS_AS(heads_of_rows(rows), ShapeError);
  CHECK_THROWS_AS(HostHeadsView<f32>(values.data(), Shape{2, 2, 3, 4}, {-1, 12, 4}), ShapeError);
  CHECK_THROWS_AS(HostHeadsView<f32>(values.data(), Shape{2, 3, 4}, {24, 12, 4}), ShapeError);
}
