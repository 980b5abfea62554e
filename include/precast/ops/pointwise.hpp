// Pointwise ops: activations, sums, gates, and copies into slices. Each value is computed in f32 and rounded
// once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include <precast/backend/backend.hpp>
#include <precast/host/row_map.hpp>
#include <precast/host/vector_math.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/activate.hpp>

namespace precast {

namespace detail::inline PRECAST_BACKEND {

/// A pointwise op without row numbers: `f(out, in...)`.
template <PolicyType P, class F, class... In>
auto pointwise(std::string_view name, F&& f, const In&... in) {
  const Shape shape = std::get<0>(std::tie(in...)).shape();
  return run_op<Pointwise, precisions<P, Pointwise>>(name, shape, [&](auto types, auto out) {
    host::map_values<decltype(types)::saturate>(out, f, as_view(in)...);
  });
}

}  // namespace detail::inline PRECAST_BACKEND

inline namespace PRECAST_BACKEND {

/// An activation function of every value. x [...] -> [...] in Activation.
template <PolicyType P, ScalarArray X>
auto activate(const X& x, Activate activation) {
  return detail::pointwise<P>(
      "activate",
      [activation](std::span<f32> out, const f32* in) {
        std::copy(in, in + out.size(), out.begin());
        host::activate_row(activation, out);
      },
      x);
}

/// a + b. The shapes are the same, or b's is the end of a's: [B, S, C] + [S, C] adds b to each of B.
template <PolicyType P, ScalarArray A, ScalarArray B>
auto add(const A& a, const B& b) {
  const auto sum = [](std::span<f32> out, const f32* x, const f32* y) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i] + y[i];
  };
  if (a.shape() == b.shape()) return detail::pointwise<P>("add", sum, a, b);
  const Shape &long_shape = a.shape(), &short_shape = b.shape();
  const std::size_t extra = long_shape.rank() - short_shape.rank();
  bool fits = short_shape.rank() > 0 && short_shape.rank() < long_shape.rank();
  for (std::size_t i = 0; fits && i < short_shape.rank(); ++i) fits = short_shape[i] == long_shape[extra + i];
  if (!fits)
    detail::shapes_do_not_fit("add", a.shape(), b.shape(),
                              "are neither equal nor is the second the end of the first");
  const Tensor<f32> addend = detail::in_f32(b);
  return detail::run_op<Pointwise, precisions<P, Pointwise>>("add", a.shape(), [&](auto types, auto out) {
    host::map_rows<decltype(types)::saturate>(
        out,
        [&](host::Piece at, std::span<f32> computed, const f32* x) {
          sum(computed, x, addend.data() + at.row % addend.rows() * addend.columns() + at.first);
        },
        as_view(a));
  });
}

/// residual + gate x with one gate for each channel of each picture: residual and x [B, S, C], gate [B, C];
/// or residual and x [S, C], gate [1, C]. `out` has x's shape and overlaps neither.
template <PolicyType P, ScalarArray R, ScalarArray G, ScalarArray X>
void gated_add_into(const R& residual, const G& gate, const X& x,
                    View<typename precisions<P, Pointwise>::result> out) {
  const Shape& shape = x.shape();
  detail::require_same_shape("gated_add", residual.shape(), shape);
  detail::require_same_shape("gated_add", shape, out.shape());
  const std::int64_t rows_per_picture = detail::rows_per_picture("gated_add", shape, gate.shape());
  const Tensor<f32> factor = detail::in_f32(gate);
  detail::run_op_into<Pointwise, precisions<P, Pointwise>>("gated_add", out, [&](auto types, auto to) {
    host::map_rows<decltype(types)::saturate>(
        to,
        [&](host::Piece at, std::span<f32> computed, const f32* base, const f32* in) {
          const f32* by = factor.data() + at.row / rows_per_picture * factor.columns() + at.first;
          for (std::size_t i = 0; i < computed.size(); ++i) computed[i] = std::fma(by[i], in[i], base[i]);
        },
        as_view(residual), as_view(x));
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray R, ScalarArray G, ScalarArray X>
auto gated_add(const R& residual, const G& gate, const X& x) {
  Tensor<typename precisions<P, Pointwise>::result> out(x.shape());
  gated_add_into<P>(residual, gate, x, out.view());
  return out;
}

/// activation(a) b, the gate of a gated feed-forward layer. Both [...].
template <PolicyType P, ScalarArray A, ScalarArray B>
auto gated_product(const A& a, const B& b, Activate activation) {
  detail::require_same_shape("gated_product", a.shape(), b.shape());
  return detail::pointwise<P>(
      "gated_product",
      [activation](std::span<f32> out, const f32* x, const f32* y) {
        std::copy(x, x + out.size(), out.begin());
        host::activate_row(activation, out);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] *= y[i];
      },
      a, b);
}

/// x factor + offset.
template <PolicyType P, ScalarArray X>
auto scale_shift(const X& x, f32 factor, f32 offset) {
  return detail::pointwise<P>(
      "scale_shift",
      [factor, offset](std::span<f32> out, const f32* in) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::fma(in[i], factor, offset);
      },
      x);
}

/// x, no smaller than `low` and no larger than `high`; NaN stays.
template <PolicyType P, ScalarArray X>
auto clamp(const X& x, f32 low, f32 high) {
  return detail::pointwise<P>(
      "clamp",
      [low, high](std::span<f32> out, const f32* in) {
        for (std::size_t i = 0; i < out.size(); ++i) {
          const f32 above = in[i] < low ? low : in[i];
          out[i] = above > high ? high : above;
        }
      },
      x);
}

/// Copies x into a slice of another tensor, rounded to Activation where that is narrower. As many rows of as
/// many columns in both; their shapes may differ otherwise.
template <PolicyType P, ScalarArray X>
void copy_into(const X& x, View<typename precisions<P, Pointwise>::result> out) {
  if (x.elements() != out.elements() || x.columns() != out.columns())
    detail::shapes_do_not_fit("copy_into", x.shape(), out.shape(), "have different rows");
  detail::run_op_into<Pointwise, precisions<P, Pointwise>>("copy_into", out, [&](auto types, auto to) {
    host::convert_values<typename decltype(types)::result, decltype(types)::saturate>(x, to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
