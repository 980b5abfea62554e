// Activation functions, alone and as the gate of a product. Each value is computed in f32 and rounded once;
// with Downcast<Pointwise>, after each step of its function.
#pragma once

#include <type_traits>

#include <precast/backend.hpp>
#include <precast/ops/run_pointwise.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/elementwise.hpp>

namespace precast {

/// An activation function that is known at compile time, as elementwise::Silu is.
template <class F>
concept ActivationType = std::is_empty_v<F> && std::is_invocable_r_v<f32, F, f32>;

namespace detail {

/// Does not compile (static_assert): a function passed as an argument.
template <class F>
concept FunctionAsArgument = std::is_invocable_r_v<f32, F, f32>;
template <FunctionAsArgument F>
void refuse_function_as_argument() {
  static_assert(!FunctionAsArgument<F>,
                "Precast: an activation function is a template argument, activate<P, elementwise::Silu>(x) "
                "or activate<P, decltype(f)>(x), or an ActivationFunction.");
}

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Applies an activation function to every value: `activate_into<P, elementwise::Silu>(x, out)`. x [...] ->
/// [...] in Activation; `out` is x itself or apart from it. Only the named function is compiled. Throws
/// ShapeError where the shapes differ.
template <PolicyType P, ActivationType F, ScalarArray X>
void activate_into(const X& x, ResultOf<P, Pointwise> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::pointwise_into<precisions<P, Pointwise>>("activate", out.view(), F{}, as_view(x));
}
/// The same for a function that is chosen at run time.
template <PolicyType P, ScalarArray X>
void activate_into(const X& x, ActivationFunction activation, ResultOf<P, Pointwise> out,
                   const Context& context = current_context()) {
  elementwise::visit_activation(activation, [&]<class F>(F) { activate_into<P, F>(x, out, context); });
}

/// Both into a new tensor.
template <PolicyType P, ActivationType F, ScalarArray X>
auto activate(const X& x, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(x.shape(), context, [&](auto out) { activate_into<P, F>(x, out); });
}
template <PolicyType P, ScalarArray X>
auto activate(const X& x, ActivationFunction activation, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(x.shape(), context,
                                        [&](auto out) { activate_into<P>(x, activation, out); });
}

/// Does not compile (static_assert): a function passed as an argument.
template <PolicyType P, ScalarArray X, detail::FunctionAsArgument F>
void activate_into(const X&, const F&, ResultOf<P, Pointwise>, const Context& = current_context()) {
  detail::refuse_function_as_argument<F>();
}
template <PolicyType P, ScalarArray X, detail::FunctionAsArgument F>
auto activate(const X& x, const F&, const Context& = current_context()) {
  detail::refuse_function_as_argument<F>();
  return Tensor<typename precisions<P, Pointwise>::result>(x.shape());
}

/// F(a) b, the gate of a gated feed-forward layer: `gated_product_into<P, elementwise::Silu>(a, b, out)`.
/// All have one shape; `out` is a, b or apart from both. Throws ShapeError where the shapes differ.
template <PolicyType P, ActivationType F, ScalarArray A, ScalarArray B>
void gated_product_into(const A& a, const B& b, ResultOf<P, Pointwise> out,
                        const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::require_same_shape("gated_product", a.shape(), b.shape());
  detail::pointwise_into<precisions<P, Pointwise>>("gated_product", out.view(),
                                                   elementwise::GatedProduct<F>{}, as_view(a), as_view(b));
}
/// The same for a function that is chosen at run time.
template <PolicyType P, ScalarArray A, ScalarArray B>
void gated_product_into(const A& a, const B& b, ActivationFunction activation, ResultOf<P, Pointwise> out,
                        const Context& context = current_context()) {
  elementwise::visit_activation(activation,
                                [&]<class F>(F) { gated_product_into<P, F>(a, b, out, context); });
}

/// Both into a new tensor.
template <PolicyType P, ActivationType F, ScalarArray A, ScalarArray B>
auto gated_product(const A& a, const B& b, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(a.shape(), context,
                                        [&](auto out) { gated_product_into<P, F>(a, b, out); });
}
template <PolicyType P, ScalarArray A, ScalarArray B>
auto gated_product(const A& a, const B& b, ActivationFunction activation,
                   const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(a.shape(), context,
                                        [&](auto out) { gated_product_into<P>(a, b, activation, out); });
}

/// Does not compile (static_assert): a function passed as an argument.
template <PolicyType P, ScalarArray A, ScalarArray B, detail::FunctionAsArgument F>
void gated_product_into(const A&, const B&, const F&, ResultOf<P, Pointwise>,
                        const Context& = current_context()) {
  detail::refuse_function_as_argument<F>();
}
template <PolicyType P, ScalarArray A, ScalarArray B, detail::FunctionAsArgument F>
auto gated_product(const A& a, const B&, const F&, const Context& = current_context()) {
  detail::refuse_function_as_argument<F>();
  return Tensor<typename precisions<P, Pointwise>::result>(a.shape());
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
