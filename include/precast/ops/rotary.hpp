// Rotary embeddings of either layout, their tables, and their gradients.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <precast/backend.hpp>
#include <precast/backend/rotation.hpp>
#include <precast/ops/rotary_table.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/rotation.hpp>
#include <precast/tensor/arrived.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The angles of heads whose halves are turned together, as Llama has them: for each position a row of
/// `width` values, theta^(-2i / width) times the position in float64, its cosine and sine rounded to f32, at
/// i and at i + width / 2. Throws ShapeError for an odd width.
inline RotaryTable rotary_table_of_halves(std::int64_t width, double theta, std::span<const f32> positions) {
  if (width < 2 || width % 2 != 0)
    throw ShapeError("rotary_table_of_halves: a head of " + std::to_string(width) +
                     " values cannot be cut into halves");
  const auto tokens = static_cast<std::int64_t>(positions.size()), half = width / 2;
  HostTensor<f32> cosines(Shape{tokens, width}), sines(Shape{tokens, width});
  host::parallel_for(tokens, [&](std::int64_t token) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      const double angle = positions[static_cast<std::size_t>(token)] * frequency;
      for (const std::int64_t c : {i, i + half}) {
        cosines.data()[token * width + c] = static_cast<f32>(std::cos(angle));
        sines.data()[token * width + c] = static_cast<f32>(std::sin(angle));
      }
    }
  });
  return {arrived(std::move(cosines)), arrived(std::move(sines))};
}

/// Turns each pair of values of each head by its token's angle, in f32: x [B, S, heads * D], table of [S, D]
/// -> [B, S, heads * D]. Throws ShapeError where they do not fit or D is odd.
template <PolicyType P, ScalarArray X>
void rotate_into(const X& x, const RotaryTable& table, const Rotation& rotation,
                 View<typename precisions<P, Position>::result> out) {
  const Shape& shape = x.shape();
  detail::require_heads_of("rotate", shape, table);
  detail::require_same_shape("rotate", shape, out.shape());
  detail::run_op_into<Position, precisions<P, Position>>("rotate", out, [&]<class Types>(Types, auto to) {
    backend::rotate<Types>(as_view(x), table.cos.view(), table.sin.view(), rotation, to);
  });
}

/// The gradient of rotate's input: dy [B, S, heads * D] turned back.
template <PolicyType P, ScalarArray DY>
void rotary_gradient_into(const DY& dy, const RotaryTable& table, const Rotation& rotation,
                          View<typename training<P>::gradient> out) {
  rotate_into<P>(dy, table, Rotation{rotation.pairs, !rotation.inverse}, out);
}

/// Each in a context, which stands before its other arguments.
template <PolicyType P, ScalarArray X>
void rotate_into(const Context& context, const X& x, const RotaryTable& table, const Rotation& rotation,
                 View<typename precisions<P, Position>::result> out) {
  with_context(context, [&] { rotate_into<P>(x, table, rotation, out); });
}
template <PolicyType P, ScalarArray DY>
void rotary_gradient_into(const Context& context, const DY& dy, const RotaryTable& table,
                          const Rotation& rotation, View<typename training<P>::gradient> out) {
  with_context(context, [&] { rotary_gradient_into<P>(dy, table, rotation, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
