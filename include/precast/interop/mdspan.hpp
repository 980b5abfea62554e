// Views of std::mdspan, cuda::std::mdspan and whatever looks like them; nothing is copied, and no header of
// theirs is needed.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <precast/interop/pointer.hpp>

namespace precast::interop {

namespace detail {
/// Whether an accessor returns the value in memory, and not one computed from it (as std::linalg's scaled
/// does). True for a type without an accessor.
template <class M>
inline constexpr bool accesses_memory = [] {
  if constexpr (requires { typename M::reference; })
    return std::is_same_v<typename M::reference, typename M::element_type&>;
  else
    return true;
}();

/// A type's name, with its arguments.
template <class T>
consteval std::string_view name_of_type() {
  return __PRETTY_FUNCTION__;
}
/// Whether an mdspan declares memory that a Space does not reach. CUDA's host_mdspan and device_mdspan
/// declare it by the name of their accessors, which is all that can be checked here without including their
/// headers.
template <class M, class Space>
inline constexpr bool is_inaccessible_from = [] {
  if constexpr (requires { typename M::accessor_type; }) {
    constexpr std::string_view name = name_of_type<typename M::accessor_type>();
    return name.find("cuda::") != name.npos &&
           name.find(std::is_same_v<Space, HostSpace> ? "device_accessor<" : "host_accessor<") != name.npos;
  }
  return false;
}();
/// A static_assert error where that is so.
template <class M, class Space>
consteval void require_reached() {
  static_assert(!is_inaccessible_from<M, Space>,
                "mdspan: this one is in the other memory space: view a host_mdspan in HostSpace, a "
                "device_mdspan in DeviceSpace.");
}
}  // namespace detail

/// A type with extents, strides and a plain data pointer, as std::mdspan (C++23, [mdspan.mdspan]) has.
template <class M>
concept MdspanLike = requires(const M& span) {
  typename M::element_type;
  requires ForeignScalar<typename M::element_type>;
  requires detail::accesses_memory<M>;
  { M::rank() } -> std::convertible_to<std::size_t>;
  { span.extent(0) } -> std::convertible_to<std::int64_t>;
  { span.stride(0) } -> std::convertible_to<std::int64_t>;
  { span.is_strided() } -> std::convertible_to<bool>;
  { span.data_handle() } -> std::convertible_to<typename M::element_type*>;
};

namespace detail {

struct Laid {
  Shape shape;
  Strides strides;
};

template <MdspanLike M>
Laid laid(const M& span) {
  constexpr std::size_t rank = M::rank();
  static_assert(rank >= 1 && rank <= Shape::max_rank, "mdspan: views have one to six dimensions.");
  if (!span.is_strided())
    throw ShapeError("mdspan: its layout has no strides: copy the values to one that has");
  std::array<std::int64_t, rank> sizes, strides;
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = static_cast<std::int64_t>(span.extent(i));
    strides[i] = static_cast<std::int64_t>(span.stride(i));
  }
  return {Shape(std::span<const std::int64_t>(sizes)), Strides(std::span<const std::int64_t>(strides))};
}

}  // namespace detail

/// A view of an mdspan's memory, which must be in Space. Throws ShapeError unless all rows are one stride
/// apart. CUDA's host_mdspan in DeviceSpace, and its device_mdspan in HostSpace, are static_assert
/// errors.
template <class Space, MdspanLike M>
auto view_of(const M& span) {
  detail::require_reached<M, Space>();
  const auto [shape, strides] = detail::laid(span);
  return view_at<Space>(static_cast<typename M::element_type*>(span.data_handle()), shape, strides);
}
/// Heads of attention: the mdspan's dimensions are B, S, H and D, whatever its strides.
template <class Space, MdspanLike M>
auto heads_of(const M& span) {
  detail::require_reached<M, Space>();
  static_assert(M::rank() == 4, "mdspan: heads have the dimensions batch, rows, heads and width.");
  const auto [shape, strides] = detail::laid(span);
  return heads_at<Space>(static_cast<typename M::element_type*>(span.data_handle()), shape, strides);
}

}  // namespace precast::interop
