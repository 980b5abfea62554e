// Gradients of pointwise ops. The gradient of add() is dy for both operands (broadcast_gradient_into sums dy
// for one that is broadcast); add() itself adds two gradients of one value.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/backend/pointwise_gradient.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/elementwise_gradient.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// dy f'(x), the gradient of an activation's input x [...]. Computed in f32 and rounded once; with
/// Downcast<Pointwise>, after each step. `out` is dy or x itself or apart from both. Throws ShapeError
/// where shapes differ.
template <PolicyType P, ActivationType F, ScalarArray DY, ScalarArray X>
void activate_gradient_into(const DY& dy, const X& x, GradientOf<P> out,
                            const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  detail::require_same_shape("activate_gradient", dy.shape(), x.shape());
  detail::require_same_shape("activate_gradient", x.shape(), result.shape());
  const bool in_place = detail::require_apart_or_same("activate_gradient", result, as_view(dy), as_view(x));
  detail::run_gradients_in_place<Pointwise, gradient_precisions<P, Pointwise>>(
      in_place, "activate_gradient",
      [&]<class Types>(Types, auto to) {
        backend::map_values<Types>(to, elementwise::ActivationGradient<F>{}, as_view(dy), as_view(x));
      },
      result);
}
/// The same for a function that is chosen at run time.
template <PolicyType P, ScalarArray DY, ScalarArray X>
void activate_gradient_into(const DY& dy, const X& x, ActivationFunction activation, GradientOf<P> out,
                            const Context& context = current_context()) {
  elementwise::visit_activation(activation,
                                [&]<class F>(F) { activate_gradient_into<P, F>(dy, x, out, context); });
}

/// The gradients of gated_product, F(a) b (SwiGLU where F is Silu): da = dy b f'(a) and db = dy f(a), in
/// one pass. All have one shape; da and db do not overlap each other, and each is an input itself or
/// overlaps none. Throws ShapeError where shapes differ.
template <PolicyType P, ActivationType F, ScalarArray DY, ScalarArray A, ScalarArray B>
void gated_product_gradient_into(const DY& dy, const A& a, const B& b, GradientOf<P> da, GradientOf<P> db,
                                 const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto a_gradient = da.view(), b_gradient = db.view();
  detail::require_same_shape("gated_product_gradient", dy.shape(), a.shape());
  detail::require_same_shape("gated_product_gradient", a.shape(), b.shape());
  detail::require_same_shape("gated_product_gradient", a.shape(), a_gradient.shape());
  detail::require_same_shape("gated_product_gradient", b.shape(), b_gradient.shape());
  bool in_place = false;
  for (const auto& out : {a_gradient, b_gradient})
    in_place |=
        detail::require_apart_or_same("gated_product_gradient", out, as_view(dy), as_view(a), as_view(b));
  detail::run_gradients_in_place<Pointwise, gradient_precisions<P, Pointwise>>(
      in_place, "gated_product_gradient",
      [&]<class Types>(Types, auto to_a, auto to_b) {
        backend::gated_product_gradient<Types, F>(as_view(dy), as_view(a), as_view(b), to_a, to_b);
      },
      a_gradient, b_gradient);
}
/// The same for a function that is chosen at run time.
template <PolicyType P, ScalarArray DY, ScalarArray A, ScalarArray B>
void gated_product_gradient_into(const DY& dy, const A& a, const B& b, ActivationFunction activation,
                                 GradientOf<P> da, GradientOf<P> db,
                                 const Context& context = current_context()) {
  elementwise::visit_activation(
      activation, [&]<class F>(F) { gated_product_gradient_into<P, F>(dy, a, b, da, db, context); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
