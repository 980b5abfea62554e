// Views of mdspans: of a small one of the test's, and of CCCL's and the standard library's where they are.
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include <catch2/catch.hpp>

#include <precast/interop/mdspan.hpp>

#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/array>
#include <cuda/std/mdspan>
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif

using namespace precast;

namespace {

/// As little as an mdspan has.
template <class T, std::size_t Rank>
struct SmallSpan {
  using element_type = T;
  T* data;
  std::array<int, Rank> extents, strides;
  bool strided = true;

  static constexpr std::size_t rank() { return Rank; }
  int extent(std::size_t i) const { return extents[i]; }
  int stride(std::size_t i) const { return strides[i]; }
  bool is_strided() const { return strided; }
  T* data_handle() const { return data; }
};

/// One whose accessor makes another value of what lies in memory.
struct ScaledSpan : SmallSpan<f32, 2> {
  using reference = f32;
};
struct PlainSpan : SmallSpan<f32, 2> {
  using reference = f32&;
};

std::array<f32, 120> counted() {
  std::array<f32, 120> values{};
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

}  // namespace

TEST_CASE("an mdspan is a view of its memory", "[interop]") {
  auto values = counted();
  const auto view = interop::view_of<HostSpace>(SmallSpan<f32, 3>{values.data(), {2, 3, 4}, {30, 10, 1}});
  static_assert(std::is_same_v<decltype(view), const HostView<f32>>);
  CHECK(view.shape() == Shape{2, 3, 4});
  CHECK(view.row(5)[3] == 53);
  static_assert(std::is_same_v<decltype(interop::view_of<DeviceSpace>(
                                   SmallSpan<const f32, 1>{values.data(), {4}, {1}})),
                               DeviceView<const f32>>);
  CHECK_THROWS_AS(interop::view_of<HostSpace>(SmallSpan<f32, 2>{values.data(), {3, 4}, {1, 3}}), ShapeError);
  CHECK_THROWS_WITH(interop::view_of<HostSpace>(SmallSpan<f32, 2>{values.data(), {3, 4}, {4, 1}, false}),
                    Catch::Contains("no strides"));
  static_assert(!interop::MdspanLike<SmallSpan<int, 2>>);  // integers are no dtype
  static_assert(!interop::MdspanLike<HostView<f32>>);
  static_assert(interop::MdspanLike<PlainSpan> && !interop::MdspanLike<ScaledSpan>);
}

TEST_CASE("an mdspan of four dimensions is heads, whatever its strides", "[interop]") {
  auto values = counted();
  const auto heads =
      interop::heads_of<HostSpace>(SmallSpan<f32, 4>{values.data(), {2, 4, 3, 5}, {60, 5, 20, 1}});
  CHECK(heads.row(1, 2, 3)[4] == 119);
}

#if __has_include(<cuda/std/mdspan>)
TEST_CASE("cuda::std::mdspan is a view of its memory", "[interop]") {
  auto values = counted();
  const ::cuda::std::mdspan<f32, ::cuda::std::dextents<int, 3>> rows(values.data(), 2, 3, 4);
  CHECK(interop::view_of<HostSpace>(rows).row(5)[3] == 23);
  const ::cuda::std::mdspan<const f32, ::cuda::std::extents<std::size_t, 6, 20>> known(values.data());
  CHECK(interop::view_of<HostSpace>(known).shape() == Shape{6, 20});
  const ::cuda::std::mdspan<f32, ::cuda::std::dextents<int, 2>, ::cuda::std::layout_left> columns(
      values.data(), 3, 4);
  CHECK_THROWS_AS(interop::view_of<HostSpace>(columns), ShapeError);
  using Four = ::cuda::std::dextents<std::int64_t, 4>;
  const ::cuda::std::layout_stride::mapping<Four> turned(Four(2, 4, 3, 5),
                                                         ::cuda::std::array<std::int64_t, 4>{60, 5, 20, 1});
  const ::cuda::std::mdspan<f32, Four, ::cuda::std::layout_stride> heads(values.data(), turned);
  CHECK(interop::heads_of<HostSpace>(heads).row(1, 2, 3)[4] == 119);
}
#endif

#if defined(__cpp_lib_mdspan)
TEST_CASE("std::mdspan is a view of its memory", "[interop]") {
  auto values = counted();
  const std::mdspan<f32, std::dextents<int, 3>> rows(values.data(), 2, 3, 4);
  CHECK(interop::view_of<HostSpace>(rows).row(5)[3] == 23);
}
#endif
