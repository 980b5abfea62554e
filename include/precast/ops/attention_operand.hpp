// Operands of attention: rows [B, S, heads * D], or a HeadsView, whose heads have any strides.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/tensor/heads_view.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast {

namespace detail {
template <class A>
inline constexpr bool is_heads_view = false;
template <class T, class Space>
inline constexpr bool is_heads_view<HeadsViewIn<T, Space>> = true;
}  // namespace detail

/// An operand of attention: a Tensor, View or HeadsView of scalars.
template <class A>
concept AttentionArray = ScalarArray<A> || detail::is_heads_view<A>;

namespace detail {

inline namespace PRECAST_BACKEND {

/// The heads of an operand, and its shape as it was given, for errors.
template <class T>
struct AttentionOperand {
  HeadsView<const T> view;
  Shape given;
};

/// Throws ShapeError where rows are not [B, S, heads * D].
template <ScalarArray A>
AttentionOperand<typename A::value_type> attention_operand(const A& rows, std::int64_t heads) {
  return {split_heads(as_view(rows), heads), rows.shape()};
}
/// Throws ShapeError where `heads` is neither 0 nor the view's number of heads.
template <class T, class Space>
AttentionOperand<std::remove_const_t<T>> attention_operand(const HeadsViewIn<T, Space>& view,
                                                           std::int64_t heads) {
  static_assert(std::is_same_v<Space, BackendSpace>,
                "Precast: attention runs in the other memory space: give it heads of its own backend's.");
  if (heads != 0 && heads != view.heads())
    throw ShapeError("attention: " + to_string(view.shape()) + " has " + std::to_string(view.heads()) +
                     " heads, and the options name " + std::to_string(heads) +
                     ": leave them out, since a HeadsView has its own");
  if constexpr (std::is_same_v<Space, BackendSpace>)
    return {view, view.shape()};
  else
    return {};
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

}  // namespace precast
