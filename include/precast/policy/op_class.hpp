// The op classes: the names by which a policy, the op table and the trace speak of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace precast {

/// Products of matrices: linear layers and embedders.
struct Matmul {
  static constexpr std::string_view name = "Matmul";
};
/// Convolutions.
struct Conv {
  static constexpr std::string_view name = "Conv";
};
/// Scaled dot-product attention: both products and the softmax between them.
struct Attention {
  static constexpr std::string_view name = "Attention";
};
/// Layer, RMS and group normalisation, with the modulation fused into them.
struct Norm {
  static constexpr std::string_view name = "Norm";
};
/// A softmax that stands alone.
struct Softmax {
  static constexpr std::string_view name = "Softmax";
};
/// Sums, means and extremes over a dimension.
struct Reduction {
  static constexpr std::string_view name = "Reduction";
};
/// Losses of training.
struct Loss {
  static constexpr std::string_view name = "Loss";
};
/// Activations, gates, residual additions, look-ups and resampling: one output value from few input values.
struct Pointwise {
  static constexpr std::string_view name = "Pointwise";
};
/// Rotary and timestep embeddings, and the sampler's step.
struct Position {
  static constexpr std::string_view name = "Position";
};

namespace detail {
template <class... Ops>
struct OpClasses {
  static constexpr std::size_t count = sizeof...(Ops);
  template <class Op>
  static constexpr bool contains = (std::is_same_v<Op, Ops> || ...);
  template <class Op>
  static constexpr std::uint32_t bit = [] {
    std::uint32_t mask = 1;
    static_cast<void>(((std::is_same_v<Op, Ops> ? true : (mask <<= 1, false)) || ...));
    return mask;
  }();
  /// Calls `visitor(Op{})` for each op class, in the order in which tables print them.
  template <class Visitor>
  static constexpr void for_each(Visitor&& visitor) {
    (visitor(Ops{}), ...);
  }
};
}  // namespace detail

/// Every op class, in the order in which tables print them.
using AllOpClasses =
    detail::OpClasses<Matmul, Conv, Attention, Norm, Softmax, Reduction, Loss, Pointwise, Position>;

/// An op class: what Upcast and Downcast take, and the key of a row of the op table.
template <class T>
concept OpClass = AllOpClasses::contains<T>;

}  // namespace precast
