// Operands: the inputs of a product, rounded to the policy's format and held in a dtype that this CPU
// multiplies.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// Whether values of From are operands as they lie in memory, for products that multiply Multiplied.
template <class Operand, class Multiplied, class From>
inline constexpr bool are_operands = [] {
  if constexpr (std::is_same_v<From, Multiplied>) return widens_exactly<Operand, From>;
  return false;
}();

/// Rounds values to Operand, and holds them as Multiplied, exactly. Saturating policies clamp here as they do
/// at every other rounding.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype From>
void operand_row(std::span<const From> from, std::span<Multiplied> to) {
  if constexpr (widens_exactly<Operand, From>) {
    convert_row<Multiplied>(from, to);
  } else if constexpr (std::is_same_v<Operand, Multiplied>) {
    convert_row<Multiplied, Saturates>(from, to);
  } else {
    static_assert(std::is_same_v<Multiplied, f32>);
    convert_row<f32>(from, to);
    round_row<Operand, Saturates>(to);
  }
}

/// A matrix as operands, contiguous, as oneDNN requires: a view of the values where they qualify, else a
/// copy.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype From>
class Operands {
 public:
  explicit Operands(HostView<const From> from) {
    if constexpr (are_operands<Operand, Multiplied, From>) {
      view_ = from;
      if (from.contiguous()) return;
    }
    copy_ = HostTensor<Multiplied>(Shape{from.rows(), from.columns()});
    view_ = copy_.view();
    const std::int64_t rows_a_task = rows_per_task(from.columns());
    parallel_for(ceil_divide(from.rows(), rows_a_task), [&](std::int64_t task) {
      const std::int64_t end = std::min(from.rows(), (task + 1) * rows_a_task);
      for (std::int64_t r = task * rows_a_task; r < end; ++r)
        operand_row<Operand, Saturates>(from.row(r), copy_.view().row(r));
    });
  }

  HostView<const Multiplied> view() const { return view_; }

 private:
  static std::int64_t rows_per_task(std::int64_t columns) {
    constexpr std::int64_t values = 16 * values_per_chunk;
    return std::max<std::int64_t>(1, values / std::max<std::int64_t>(1, columns));
  }

  HostTensor<Multiplied> copy_;
  HostView<const Multiplied> view_;
};

}  // namespace precast::host
