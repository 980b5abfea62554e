// The gradient of rotary embeddings.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/rotation.hpp>
#include <precast/ops/rotary_table.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/rotation.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The gradient of rotary's input: dy [B, S, heads * D] rotated back by the angles of its table [S, D], of
/// either layout: [B, S, heads * D]. `out` is dy itself or apart from it. Throws ShapeError where they do
/// not fit or D is odd.
template <PolicyType P, ScalarArray DY, RotaryPairs Pairs>
void rotary_gradient_into(const DY& dy, const RotaryTableOf<Pairs>& table, GradientOf<P> out,
                          const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  detail::require_heads_of("rotary_gradient", dy.shape(), table);
  detail::require_same_shape("rotary_gradient", dy.shape(), result.shape());
  const bool in_place = detail::require_apart_or_same("rotary_gradient", result, as_view(dy));
  detail::require_apart("rotary_gradient", result, table.cos.view(), table.sin.view());
  detail::run_gradients_in_place<Position, gradient_precisions<P, Position>>(
      in_place, "rotary_gradient",
      [&]<class Types>(Types, auto to) {
        backend::rotate<Types>(as_view(dy), table.cos.view(), table.sin.view(),
                               Rotation{.pairs = Pairs, .inverse = true}, to);
      },
      result);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
