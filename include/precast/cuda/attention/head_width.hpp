// The width of a head, known at run time, as a compile-time constant of the kernel.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace precast::gpu::detail {

/// Calls `function` with the first of Widths that holds `width`, as a std::integral_constant, and returns
/// true; false where none does, or where the choice has no heads of that width. Kernels are thus stamped
/// only for the widths of `Choice`.
template <const auto& Widths, class Choice, class F>
bool visit_head_width(int width, F&& function) {
  const auto call_if = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr int narrower = I == 0 ? 0 : Widths[I - (I > 0)];
    constexpr int known = Widths[I];
    if constexpr (Choice::has_widths(narrower, known))
      if (width > narrower && width <= known) {
        function(std::integral_constant<int, known>{});
        return true;
      }
    return false;
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (call_if(std::integral_constant<std::size_t, I>{}) || ...);
  }
  (std::make_index_sequence<Widths.size()>{});
}

}  // namespace precast::gpu::detail
