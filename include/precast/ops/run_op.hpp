// run_op_into: runs an op: its kernel in the op table's dtypes, then a report to the watch hook.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>
#include <precast/ops/overlap.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/watch/ran_in.hpp>

#if PRECAST_HAS_WATCH
#include <tuple>

#include <precast/backend/convert.hpp>
#include <precast/ops/report.hpp>
#endif

namespace precast {

inline namespace PRECAST_BACKEND {

/// A Tensor or a View of the dtype that an op writes under a policy.
template <PolicyType P, OpClass Op>
using ResultOf = PendingView<View<typename precisions<P, Op>::result>>;

}  // namespace PRECAST_BACKEND

}  // namespace precast

namespace precast::detail {

inline namespace PRECAST_BACKEND {

/// The probe of an op that has no intermediate values.
struct NoProbe {
  double operator()() const { return 0; }
};

/// Calls `run(outs...)`. Where an op is in place while ops are watched, its results are made in new tensors
/// and copied to `outs` at the end: the watch hook may compute them again from the operands.
template <class Run, class... T>
void run_in_place([[maybe_unused]] bool in_place, Run&& run, View<T>... outs) {
#if PRECAST_HAS_WATCH
  if (in_place && watch::active() && !MemoryCounter::active()) {
    std::tuple<Tensor<T>...> apart{Tensor<T>(outs.shape())...};
    std::apply(
        [&](Tensor<T>&... made) {
          run(made.view()...);
          (backend::convert_values<T, false>(View<const T>(made.view()), outs), ...);
        },
        apart);
    return;
  }
#endif
  run(outs...);
}

/// Whether a dry run calls the kernels of an op class: those whose workspace is large enough to count. They
/// return before they read values.
template <OpClass Op>
inline constexpr bool takes_memory = std::is_same_v<Op, Matmul> || std::is_same_v<Op, Conv> ||
                                     std::is_same_v<Op, Attention> ||
                                     (!backend::Memory::on_host &&
                                      (std::is_same_v<Op, Norm> || std::is_same_v<Op, Reduction> ||
                                       std::is_same_v<Op, Loss>));

/// Runs `kernel(Types{}, View<result>)` into `out`, and reports it to the watch hook. The kernel may run a
/// second time, with `widened_to_f32<Types>`, so `out` must not overlap its operands (run_op_in_place).
template <OpClass Op, class Types, class Kernel, class Probe = NoProbe>
void run_op_into(std::string_view name, View<typename Types::result> out, Kernel&& kernel,
                 [[maybe_unused]] Probe&& probe = {}) {
  require_rows_apart(name, out);
  if (MemoryCounter::active()) {
    if constexpr (takes_memory<Op>) kernel(Types{}, out);
    return;
  }
#if PRECAST_HAS_WATCH
  watch::take_ran();  // drops the stamp of kernels outside of ops
  kernel(Types{}, out);
  watch::report<Op>(
      name, out,
      [&] {
        Tensor<f32> wide(out.shape());
        kernel(widened_to_f32<Types>{}, wide.view());
        return wide;
      },
      probe);
#else
  kernel(Types{}, out);
#endif
}
/// The same for an op whose result may be the memory of an operand, as `in_place` says.
template <OpClass Op, class Types, class Kernel>
void run_op_in_place(bool in_place, std::string_view name, View<typename Types::result> out,
                     Kernel&& kernel) {
  run_in_place(
      in_place, [&](View<typename Types::result> to) { run_op_into<Op, Types>(name, to, kernel); }, out);
}

/// Allocates a tensor, lets `write(view)` fill it and returns it, all in `context`.
template <PolicyType P, OpClass Op, class Write>
auto into_new(const Shape& shape, const Context& context, Write&& write) {
  const ContextScope scope(context);
  Tensor<typename precisions<P, Op>::result> out(shape);
  write(out.view());
  return out;
}

/// Throws the ShapeError of an op whose operands do not fit: "add: [2, 3] and [2, 4] have different shapes".
[[noreturn]] inline void shapes_do_not_fit(std::string_view op, const Shape& a, const Shape& b,
                                           std::string_view why) {
  throw ShapeError(std::string(op) + ": " + to_string(a) + " and " + to_string(b) + " " + std::string(why));
}

/// The number of rows of x that share a row of the [B, C] parameters, one for each sample: x is [B, S, C],
/// or [S, C] for one sample. Throws ShapeError where they do not fit.
inline std::int64_t rows_per_sample(std::string_view op, const Shape& x, const Shape& parameters) {
  const bool fits =
      (x.rank() == 3 && parameters == Shape{x[0], x[2]}) || (x.rank() == 2 && parameters == Shape{1, x[1]});
  if (!fits) shapes_do_not_fit(op, x, parameters, "are neither [B, S, C] and [B, C] nor [S, C] and [1, C]");
  return x[x.rank() - 2];
}

inline void require_same_shape(std::string_view op, const Shape& a, const Shape& b) {
  if (a != b) shapes_do_not_fit(op, a, b, "have different shapes");
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
