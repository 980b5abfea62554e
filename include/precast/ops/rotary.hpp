// Rotary embeddings: rotates the pairs of a head's values by the angles of their token.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/rotary.hpp>
#include <precast/backend/rotation.hpp>
#include <precast/ops/rotary_table.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/rotation.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Implements rotary_into on views.
template <class Row, class X, RotaryPairs Pairs>
void rotary_of_view_into(X x, const RotaryTableOf<Pairs>& table, View<typename Row::result> out) {
  require_heads_of("rotary", x.shape(), table);
  require_same_shape("rotary", x.shape(), out.shape());
  const bool in_place = require_apart_or_same("rotary", out, x);
  require_apart("rotary", out, table.cos.view(), table.sin.view());
  run_op_in_place<Position, Row>(in_place, "rotary", out, [&]<class Types>(Types, auto to) {
    if constexpr (Pairs == RotaryPairs::neighbours)
      backend::rotary<Types>(x, table.cos.view(), table.sin.view(), to);
    else
      backend::rotate<Types>(x, table.cos.view(), table.sin.view(), Rotation{.pairs = Pairs}, to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Rotates pairs of each head's values by their token's angle, in f32: x [B, S, heads * D], table of [S, D]
/// -> [B, S, heads * D] in Activation. The table's type says which values are pairs: neighbours, or i and i
/// + D / 2. `out` is x itself or apart from it. Throws ShapeError where they do not fit or D is odd.
template <PolicyType P, ScalarArray X, RotaryPairs Pairs>
void rotary_into(const X& x, const RotaryTableOf<Pairs>& table, ResultOf<P, Position> out,
                 const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::rotary_of_view_into<precisions<P, Position>>(as_view(x), table, out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, RotaryPairs Pairs>
auto rotary(const X& x, const RotaryTableOf<Pairs>& table, const Context& context = current_context()) {
  return detail::into_new<P, Position>(x.shape(), context, [&](auto out) { rotary_into<P>(x, table, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
