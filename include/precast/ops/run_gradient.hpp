// run_gradients_into: runs an op of several gradients: one kernel, then a report of each to the watch hook.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <precast/ops/run_op.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/problem/gradient_options.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// A Tensor or a View of a policy's dtype for gradients between ops, and for gradients of parameters.
template <PolicyType P>
using GradientOf = PendingView<View<typename training<P>::gradient>>;
template <PolicyType P>
using ParameterGradientOf = PendingView<View<typename training<P>::parameter_gradient>>;

}  // namespace PRECAST_BACKEND

}  // namespace precast

namespace precast::detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError where two results of an op overlap.
template <class... T>
void require_results_apart(std::string_view name, View<T>... outs) {
  const std::array<RowBytes, sizeof...(T)> written{RowBytes(outs)...};
  for (std::size_t i = 0; i < written.size(); ++i)
    for (std::size_t other = 0; other < i; ++other)
      if (!MemoryCounter::active() && written[i].overlaps(written[other]))
        throw ShapeError(std::string(name) + ": result " + std::to_string(other + 1) + " and result " +
                         std::to_string(i + 1) + " overlap in memory: give each its own");
}

/// takes_memory for gradients: those of norms, too, sum rows in a workspace.
template <OpClass Op>
inline constexpr bool gradients_take_memory = takes_memory<Op> || std::is_same_v<Op, Norm>;

/// Runs `kernel(Types{}, outs...)`, and reports each result to the watch hook. For the first value that is
/// not finite the kernel runs again, with `widened_to_f32<Types>` and f32 results that start as zeros; so
/// `outs` must not overlap its operands (run_gradients_in_place).
template <OpClass Op, class Types, class Kernel, class... T>
void run_gradients_into(std::string_view name, Kernel&& kernel, View<T>... outs) {
  (require_rows_apart(name, outs), ...);
  require_results_apart(name, outs...);
  if (MemoryCounter::active()) {
    if constexpr (gradients_take_memory<Op>) kernel(Types{}, outs...);
    return;
  }
#if PRECAST_HAS_WATCH
  watch::take_ran();  // drops the stamp of kernels outside of ops
  kernel(Types{}, outs...);
  if (!watch::active()) [[likely]]
    return;
  const watch::StampedRow ran = watch::take_ran();
  const auto in_f32 = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    const auto zeros = [](const Shape& shape) {
      return Tensor<f32>(shape, std::vector<f32>(static_cast<std::size_t>(shape.elements())));
    };
    std::array<Tensor<f32>, sizeof...(T)> wide{zeros(outs.shape())...};
    std::apply([&](auto&... each) { kernel(widened_to_f32<Types>{}, each.view()...); }, wide);
    return std::move(std::get<I>(wide));
  };
  const auto tell = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto of = [&](auto index, auto out) {
      if (out.elements() == 0) return;
      watch::detail::ran = ran;
      watch::report<Op>(
          name, out, [&] { return in_f32(index); }, NoProbe{});
    };
    (of(std::integral_constant<std::size_t, I>{}, outs), ...);
  };
  tell(std::index_sequence_for<T...>{});
#else
  kernel(Types{}, outs...);
#endif
}
/// The same where a result may be the memory of an operand, as `in_place` says.
template <OpClass Op, class Types, class Kernel, class... T>
void run_gradients_in_place(bool in_place, std::string_view name, Kernel&& kernel, View<T>... outs) {
  require_results_apart(name, outs...);
  run_in_place(
      in_place, [&](View<T>... to) { run_gradients_into<Op, Types>(name, kernel, to...); }, outs...);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
