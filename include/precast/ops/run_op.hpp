// run_op_into: runs an op: its kernel in the op table's dtypes, then a report to the watch hook.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>
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

[[noreturn]] inline void rows_overlap(std::string_view op, const Shape& shape, std::int64_t stride) {
  throw ShapeError(std::string(op) + ": the rows of the result " + to_string(shape) + " lie " +
                   std::to_string(stride) + " values apart and overlap: only operands may do so");
}

/// Throws ShapeError where rows of an op's result overlap each other. Rows of operands may: a stride of 0
/// repeats a row.
template <class T>
void require_rows_apart(std::string_view op, View<T> out) {
  const std::int64_t stride = out.row_stride(), columns = out.columns();
  if (out.rows() > 1 && stride < columns && stride > -columns) rows_overlap(op, out.shape(), stride);
}

/// The rows of a view as bytes: `count` runs of `bytes`, `step` apart. Rows side by side are one run.
struct RowBytes {
  std::int64_t first = 0, bytes = 0, step = 1, count = 0;

  template <class T>
  explicit RowBytes(View<T> view) : first(reinterpret_cast<std::intptr_t>(view.data())) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    if (view.elements() == 0) return;
    bytes = size * (view.contiguous() ? view.elements() : view.columns());
    step = view.contiguous() ? bytes : size * view.row_stride();
    count = view.contiguous() ? 1 : view.rows();
    if (step > 0) return;
    if (step < 0) first += (count - 1) * step;  // start at the row of the lowest address
    if (step == 0) count = 1;
    step = step == 0 ? bytes : -step;
  }
  /// A matrix of blocks, whose rows are contiguous.
  template <class Blocks>
    requires requires(const Blocks& matrix) { matrix.blocks_per_row(); }
  explicit RowBytes(const Blocks& matrix) : first(reinterpret_cast<std::intptr_t>(matrix.data())) {
    if (matrix.elements() == 0) return;
    bytes = step = matrix.bytes();
    count = 1;
  }
  /// Contiguous indices of rows or classes (tensor/indices.hpp).
  template <class Numbers>
    requires requires(const Numbers& numbers) { *numbers.data + numbers.count; }
  explicit RowBytes(const Numbers& numbers) : first(reinterpret_cast<std::intptr_t>(numbers.data)) {
    if (numbers.count <= 0) return;
    bytes = step = numbers.count * static_cast<std::int64_t>(sizeof *numbers.data);
    count = 1;
  }
  std::int64_t last() const { return first + (count - 1) * step; }
  std::int64_t end() const { return last() + bytes; }
  /// Whether a byte of the runs lies in [begin, end).
  bool overlaps(std::int64_t begin, std::int64_t end) const {
    const std::int64_t run = begin < first + bytes ? 0 : (begin - first - bytes) / step + 1;
    return run < count && first + run * step < end;
  }
  /// Whether the two share a byte.
  bool overlaps(const RowBytes& other) const {
    if (count == 0 || other.count == 0 || end() <= other.first || other.end() <= first) return false;
    if (step == other.step) {  // its last run against what all of its runs would meet, moved there
      RowBytes moved = other;
      moved.count += count - 1;
      return moved.overlaps(last(), end());
    }
    if (count > other.count) return other.overlaps(*this);
    for (std::int64_t begin = first; begin <= last(); begin += step)
      if (other.overlaps(begin, begin + bytes)) return true;
    return false;
  }
};

[[noreturn]] inline void throw_overlap(std::string_view op, const Shape& out, const Shape& in) {
  throw ShapeError(std::string(op) + ": the result " + to_string(out) +
                   " overlaps the memory of the operand " + to_string(in) +
                   ", which is read while it is written: give it memory of its own");
}

/// Throws ShapeError where an op's result overlaps an operand, in part or whole: the op would read values
/// that it has overwritten.
template <class Out, class... In>
void require_apart(std::string_view op, View<Out> out, const In&... in) {
  if (MemoryCounter::active()) return;  // a dry run has no real addresses
  const RowBytes written(out);
  const auto require = [&](const auto& operand) {
    if (written.overlaps(RowBytes(operand))) throw_overlap(op, out.shape(), operand.shape());
  };
  (require(in), ...);
}

/// The same, and require_rows_apart, for an op that reads a value, or its row, before it writes the result
/// of it: `out` may be exactly the memory of an operand. Returns whether it is.
template <class Out, class... In>
bool require_apart_or_same(std::string_view op, View<Out> out, View<In>... in) {
  require_rows_apart(op, out);
  bool in_place = false;
  const auto require = [&]<class Operand>(View<Operand> operand) {
    const bool same =
        sizeof(Out) == sizeof(Operand) && static_cast<const void*>(out.data()) == operand.data() &&
        out.elements() == operand.elements() &&
        (out.contiguous() ? operand.contiguous()
                          : out.columns() == operand.columns() && out.row_stride() == operand.row_stride());
    if (!same) require_apart(op, out, operand);
    in_place = in_place || same;
  };
  (require(in), ...);
  return in_place;
}

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

/// Whether kernels of an op class allocate a workspace. A dry run calls those only.
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
