// Checks that an op's result overlaps neither itself nor what the op reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::detail {

inline namespace PRECAST_BACKEND {

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

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
