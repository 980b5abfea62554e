// Pointwise ops: activations, sums, gates, and copies into slices. Each value is computed in f32 and rounded
// once; with Downcast<Pointwise>, after each step of its function.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/error.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/activate.hpp>
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

/// An activation function that is known as the code is compiled: elementwise::Silu and its like.
template <class F>
concept ActivationType = std::is_empty_v<F> && std::is_invocable_r_v<f32, F, f32>;

namespace detail {

inline namespace PRECAST_BACKEND {

/// What a pointwise op reads in the places of its result may lie there; rows that are shared may not.
template <class Out, class In>
void require_no_overlap(std::string_view name, View<Out> out, const View<In>& in) {
  require_apart_or_same(name, out, in);
}
template <class Out, class In>
void require_no_overlap(std::string_view name, View<Out> out, const RowBroadcast<In>& in) {
  require_apart(name, out, in.values);
}

/// An op that makes each value of the values in the same places of its inputs, of which the first, a view,
/// has the result's shape. Like the others that name a row of the op table, it is stamped once for all
/// policies with that row.
template <class Types, class F, class First, class... Rest>
void pointwise_into(std::string_view name, View<typename Types::result> out, const F& function,
                    const First& first, const Rest&... rest) {
  require_same_shape(name, first.shape(), out.shape());
  require_no_overlap(name, out, first);
  (require_no_overlap(name, out, rest), ...);
  run_op_into<Pointwise, Types>(name, out, [&](auto types, auto to) {
    backend::map_values<decltype(types)>(to, function, first, rest...);
  });
}

/// copy_into, of a view.
template <class Types, class X>
void copy_view_into(X x, View<typename Types::result> out) {
  if (x.elements() != out.elements() || x.columns() != out.columns())
    shapes_do_not_fit("copy_into", x.shape(), out.shape(), "have different rows");
  require_apart_or_same("copy_into", out, x);
  run_op_into<Pointwise, Types>("copy_into", out,
                                [&](auto types, auto to) { backend::copy_values<decltype(types)>(x, to); });
}

/// Throws ShapeError where `b` is neither of a's shape nor the end of it.
inline void require_end_of_shape(std::string_view name, const Shape& a, const Shape& b) {
  const std::size_t extra = a.rank() - b.rank();
  bool fits = b.rank() > 0 && b.rank() < a.rank();
  for (std::size_t i = 0; fits && i < b.rank(); ++i) fits = b[i] == a[extra + i];
  if (!fits) shapes_do_not_fit(name, a, b, "are neither equal nor is the second the end of the first");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// An activation function of every value: `activate_into<P, elementwise::Silu>(x, out)`. x [...] -> [...] in
/// Activation; `out` must not overlap x. A file that names the function pays for that one alone. Throws
/// ShapeError where the shapes differ.
template <PolicyType P, ActivationType F, ScalarArray X>
void activate_into(const X& x, View<typename precisions<P, Pointwise>::result> out) {
  detail::pointwise_into<precisions<P, Pointwise>>("activate", out, F{}, as_view(x));
}
/// The same of a function that is known as the program runs.
template <PolicyType P, ScalarArray X>
void activate_into(const X& x, ActivationFunction activation,
                   View<typename precisions<P, Pointwise>::result> out) {
  elementwise::visit_activation(activation, [&]<class F>(F) { activate_into<P, F>(x, out); });
}

/// Both into a new tensor.
template <PolicyType P, ActivationType F, ScalarArray X>
auto activate(const X& x) {
  Tensor<typename precisions<P, Pointwise>::result> out(x.shape());
  activate_into<P, F>(x, out.view());
  return out;
}
template <PolicyType P, ScalarArray X>
auto activate(const X& x, ActivationFunction activation) {
  Tensor<typename precisions<P, Pointwise>::result> out(x.shape());
  activate_into<P>(x, activation, out.view());
  return out;
}

/// a + b. The shapes are the same, or b's is the end of a's: [B, S, C] + [S, C] adds b to each of B. `out`
/// has a's shape and overlaps neither. Throws ShapeError where they do not fit.
template <PolicyType P, ScalarArray A, ScalarArray B>
void add_into(const A& a, const B& b, View<typename precisions<P, Pointwise>::result> out) {
  using Types = precisions<P, Pointwise>;
  if (a.shape() == b.shape())
    return detail::pointwise_into<Types>("add", out, elementwise::Add{}, as_view(a), as_view(b));
  detail::require_end_of_shape("add", a.shape(), b.shape());
  detail::pointwise_into<Types>("add", out, elementwise::Add{}, as_view(a), RowBroadcast{as_view(b), 1});
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray A, ScalarArray B>
auto add(const A& a, const B& b) {
  Tensor<typename precisions<P, Pointwise>::result> out(a.shape());
  add_into<P>(a, b, out.view());
  return out;
}

/// residual + gate x with one gate for each channel of each sample: residual and x [B, S, C], gate [B, C];
/// or residual and x [S, C], gate [1, C]. `out` has x's shape and overlaps none of them. Throws
/// ShapeError where they do not fit.
template <PolicyType P, ScalarArray R, ScalarArray X, ScalarArray G>
void gated_add_into(const R& residual, const X& x, const G& gate,
                    View<typename precisions<P, Pointwise>::result> out) {
  const Shape& shape = x.shape();
  detail::require_same_shape("gated_add", residual.shape(), shape);
  const std::int64_t rows_per_sample = detail::rows_per_sample("gated_add", shape, gate.shape());
  detail::pointwise_into<precisions<P, Pointwise>>("gated_add", out, elementwise::GatedAdd{},
                                                   as_view(residual), as_view(x),
                                                   RowBroadcast{as_view(gate), rows_per_sample});
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray R, ScalarArray X, ScalarArray G>
auto gated_add(const R& residual, const X& x, const G& gate) {
  Tensor<typename precisions<P, Pointwise>::result> out(x.shape());
  gated_add_into<P>(residual, x, gate, out.view());
  return out;
}

/// F(a) b, the gate of a gated feed-forward layer: `gated_product_into<P, elementwise::Silu>(a, b, out)`.
/// All [...]; `out` overlaps neither a nor b. Throws ShapeError where the shapes differ.
template <PolicyType P, ActivationType F, ScalarArray A, ScalarArray B>
void gated_product_into(const A& a, const B& b, View<typename precisions<P, Pointwise>::result> out) {
  detail::require_same_shape("gated_product", a.shape(), b.shape());
  detail::pointwise_into<precisions<P, Pointwise>>("gated_product", out, elementwise::GatedProduct<F>{},
                                                   as_view(a), as_view(b));
}
/// The same of a function that is known as the program runs.
template <PolicyType P, ScalarArray A, ScalarArray B>
void gated_product_into(const A& a, const B& b, ActivationFunction activation,
                        View<typename precisions<P, Pointwise>::result> out) {
  elementwise::visit_activation(activation, [&]<class F>(F) { gated_product_into<P, F>(a, b, out); });
}

/// Both into a new tensor.
template <PolicyType P, ActivationType F, ScalarArray A, ScalarArray B>
auto gated_product(const A& a, const B& b) {
  Tensor<typename precisions<P, Pointwise>::result> out(a.shape());
  gated_product_into<P, F>(a, b, out.view());
  return out;
}
template <PolicyType P, ScalarArray A, ScalarArray B>
auto gated_product(const A& a, const B& b, ActivationFunction activation) {
  Tensor<typename precisions<P, Pointwise>::result> out(a.shape());
  gated_product_into<P>(a, b, activation, out.view());
  return out;
}

/// x factor + offset, of one shape; `out` must not overlap x. Throws ShapeError where the shapes differ.
template <PolicyType P, ScalarArray X>
void scale_shift_into(const X& x, const ScaleShiftOptions& options,
                      View<typename precisions<P, Pointwise>::result> out) {
  detail::pointwise_into<precisions<P, Pointwise>>(
      "scale_shift", out, elementwise::ScaleShift{options.factor, options.offset}, as_view(x));
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto scale_shift(const X& x, const ScaleShiftOptions& options) {
  Tensor<typename precisions<P, Pointwise>::result> out(x.shape());
  scale_shift_into<P>(x, options, out.view());
  return out;
}

/// x, no smaller than `low` and no larger than `high`, of one shape; NaN stays. `out` must not overlap x.
/// Throws ShapeError where the shapes differ, InputError where a bound is NaN.
template <PolicyType P, ScalarArray X>
void clamp_into(const X& x, const ClampOptions& options,
                View<typename precisions<P, Pointwise>::result> out) {
  if (std::isnan(options.low) || std::isnan(options.high))
    throw InputError("clamp: a bound is NaN: give a number, or leave it out");
  detail::pointwise_into<precisions<P, Pointwise>>("clamp", out,
                                                   elementwise::Clamp{options.low, options.high}, as_view(x));
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto clamp(const X& x, const ClampOptions& options) {
  Tensor<typename precisions<P, Pointwise>::result> out(x.shape());
  clamp_into<P>(x, options, out.view());
  return out;
}

/// Copies x into a slice of another tensor, rounded to Activation where that is narrower. As many rows of as
/// many columns in both; their shapes may differ otherwise. `out` must not overlap x. Throws ShapeError where
/// rows or columns differ.
template <PolicyType P, ScalarArray X>
void copy_into(const X& x, View<typename precisions<P, Pointwise>::result> out) {
  detail::copy_view_into<precisions<P, Pointwise>>(as_view(x), out);
}

/// Each in a context, which stands before its other arguments.
template <PolicyType P, ActivationType F, class... Arguments>
auto activate_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return activate_into<P, F>(arguments...); });
}
template <PolicyType P, ActivationType F, class... Arguments>
auto activate(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return activate<P, F>(arguments...); });
}
template <PolicyType P, ActivationType F, class... Arguments>
auto gated_product_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return gated_product_into<P, F>(arguments...); });
}
template <PolicyType P, ActivationType F, class... Arguments>
auto gated_product(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return gated_product<P, F>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto activate_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return activate_into<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto activate(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return activate<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto add_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return add_into<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto add(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return add<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto gated_add_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return gated_add_into<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto gated_add(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return gated_add<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto gated_product_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return gated_product_into<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto gated_product(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return gated_product<P>(arguments...); });
}
template <PolicyType P, ScalarArray X>
void scale_shift_into(const Context& context, const X& x, const ScaleShiftOptions& options,
                      View<typename precisions<P, Pointwise>::result> out) {
  with_context(context, [&] { scale_shift_into<P>(x, options, out); });
}
template <PolicyType P, ScalarArray X>
auto scale_shift(const Context& context, const X& x, const ScaleShiftOptions& options) {
  return with_context(context, [&] { return scale_shift<P>(x, options); });
}
template <PolicyType P, ScalarArray X>
void clamp_into(const Context& context, const X& x, const ClampOptions& options,
                View<typename precisions<P, Pointwise>::result> out) {
  with_context(context, [&] { clamp_into<P>(x, options, out); });
}
template <PolicyType P, ScalarArray X>
auto clamp(const Context& context, const X& x, const ClampOptions& options) {
  return with_context(context, [&] { return clamp<P>(x, options); });
}
template <PolicyType P, class... Arguments>
auto copy_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return copy_into<P>(arguments...); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
