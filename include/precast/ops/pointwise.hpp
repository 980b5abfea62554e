// Pointwise ops: activations, sums, gates, and copies into slices. Each value is computed in f32 and rounded
// once; with Downcast<Pointwise>, after each step of its function.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/ops/activate.hpp>
#include <precast/ops/copy_into.hpp>
#include <precast/ops/run_pointwise.hpp>
#include <precast/problem/broadcast.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/elementwise.hpp>

namespace precast {

struct ScaleShiftOptions {
  f32 factor = 1;
  f32 offset = 0;
};

struct ClampOptions {
  f32 low = -std::numeric_limits<f32>::infinity();
  f32 high = std::numeric_limits<f32>::infinity();
};

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError unless b's shape is a proper suffix of a's with at least one dimension.
inline void require_end_of_shape(std::string_view name, const Shape& a, const Shape& b) {
  const std::size_t extra = a.rank() - b.rank();
  bool fits = b.rank() > 0 && b.rank() < a.rank();
  for (std::size_t i = 0; fits && i < b.rank(); ++i) fits = b[i] == a[extra + i];
  if (!fits)
    shapes_do_not_fit(name, a, b,
                      "are not equal, and the second is not the trailing dimensions of the first");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// a + b. The shapes are equal, or b's is a suffix of a's: [B, S, C] + [S, C] broadcasts b over B. `out`
/// has a's shape; it is a itself, or b itself where shapes are equal, or overlaps neither. Throws
/// ShapeError where they do not fit.
template <PolicyType P, ScalarArray A, ScalarArray B>
void add_into(const A& a, const B& b, ResultOf<P, Pointwise> out,
              const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  using Types = precisions<P, Pointwise>;
  if (a.shape() == b.shape())
    return detail::pointwise_into<Types>("add", result, elementwise::Add{}, as_view(a), as_view(b));
  detail::require_end_of_shape("add", a.shape(), b.shape());
  detail::pointwise_into<Types>("add", result, elementwise::Add{}, as_view(a), RowBroadcast{as_view(b), 1});
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray A, ScalarArray B>
auto add(const A& a, const B& b, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(a.shape(), context, [&](auto out) { add_into<P>(a, b, out); });
}

/// residual + gate x with one gate for each channel of each sample: residual and x [B, S, C], gate [B, C];
/// or residual and x [S, C], gate [1, C]. `out` has x's shape, is residual or x itself or apart from both,
/// and is apart from gate. Throws ShapeError where they do not fit.
template <PolicyType P, ScalarArray R, ScalarArray X, ScalarArray G>
void gated_add_into(const R& residual, const X& x, const G& gate, ResultOf<P, Pointwise> out,
                    const Context& context = current_context()) {
  const ContextScope scope(context);
  const Shape& shape = x.shape();
  detail::require_same_shape("gated_add", residual.shape(), shape);
  const std::int64_t rows_per_sample = detail::rows_per_sample("gated_add", shape, gate.shape());
  detail::pointwise_into<precisions<P, Pointwise>>("gated_add", out.view(), elementwise::GatedAdd{},
                                                   as_view(residual), as_view(x),
                                                   RowBroadcast{as_view(gate), rows_per_sample});
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray R, ScalarArray X, ScalarArray G>
auto gated_add(const R& residual, const X& x, const G& gate, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(x.shape(), context,
                                        [&](auto out) { gated_add_into<P>(residual, x, gate, out); });
}

/// x factor + offset, value by value; `out` is x itself or apart from it. Throws ShapeError where the
/// shapes differ.
template <PolicyType P, ScalarArray X>
void scale_shift_into(const X& x, const ScaleShiftOptions& options, ResultOf<P, Pointwise> out,
                      const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::pointwise_into<precisions<P, Pointwise>>(
      "scale_shift", out.view(), elementwise::ScaleShift{options.factor, options.offset}, as_view(x));
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto scale_shift(const X& x, const ScaleShiftOptions& options, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(x.shape(), context,
                                        [&](auto out) { scale_shift_into<P>(x, options, out); });
}

/// Clamps the values of x to [low, high]; NaN stays NaN. x and `out` have one shape. `out` is x itself or
/// apart from it. Throws ShapeError where the shapes differ, InputError where a bound is NaN.
template <PolicyType P, ScalarArray X>
void clamp_into(const X& x, const ClampOptions& options, ResultOf<P, Pointwise> out,
                const Context& context = current_context()) {
  const ContextScope scope(context);
  if (std::isnan(options.low) || std::isnan(options.high))
    throw InputError("clamp: a bound is NaN: give a number, or leave it out");
  detail::pointwise_into<precisions<P, Pointwise>>("clamp", out.view(),
                                                   elementwise::Clamp{options.low, options.high}, as_view(x));
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto clamp(const X& x, const ClampOptions& options, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(x.shape(), context,
                                        [&](auto out) { clamp_into<P>(x, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
