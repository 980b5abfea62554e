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

/// An activation function that is known as the code is compiled: elementwise::Silu and its like.
template <class F>
concept ActivationType = std::is_empty_v<F> && std::is_invocable_r_v<f32, F, f32>;

namespace detail {

/// Refused, in a sentence: a function as an argument.
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

/// An activation function of every value: `activate_into<P, elementwise::Silu>(x, out)`. x [...] -> [...] in
/// Activation; `out` is x itself or apart from it. A file that names the function pays for that one alone.
/// Throws ShapeError where the shapes differ.
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

/// A function that is given as an argument does not compile, with a sentence.
template <PolicyType P, ScalarArray X, detail::FunctionAsArgument F>
void activate_into(const X&, const F&, View<typename precisions<P, Pointwise>::result>) {
  detail::refuse_function_as_argument<F>();
}
template <PolicyType P, ScalarArray X, detail::FunctionAsArgument F>
auto activate(const X& x, const F&) {
  detail::refuse_function_as_argument<F>();
  return Tensor<typename precisions<P, Pointwise>::result>(x.shape());
}

/// F(a) b, the gate of a gated feed-forward layer: `gated_product_into<P, elementwise::Silu>(a, b, out)`.
/// All [...]; `out` is a or b itself or apart from both. Throws ShapeError where the shapes differ.
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

/// As of activate.
template <PolicyType P, ScalarArray A, ScalarArray B, detail::FunctionAsArgument F>
void gated_product_into(const A&, const B&, const F&, View<typename precisions<P, Pointwise>::result>) {
  detail::refuse_function_as_argument<F>();
}
template <PolicyType P, ScalarArray A, ScalarArray B, detail::FunctionAsArgument F>
auto gated_product(const A& a, const B&, const F&) {
  detail::refuse_function_as_argument<F>();
  return Tensor<typename precisions<P, Pointwise>::result>(a.shape());
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
auto gated_product_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return gated_product_into<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto gated_product(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return gated_product<P>(arguments...); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
