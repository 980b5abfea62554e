// RMS normalisation, of rows and of heads.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/rms_norm.hpp>
#include <precast/ops/norm_options.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// RMS normalisation of every D neighbouring values, weight [D], where D divides the columns of x.
template <class Row, class X, class W>
void rms_norm_of_view_into(std::string_view name, X x, W weight, const NormOptions& options,
                           View<typename Row::result> out) {
  require_same_shape(name, x.shape(), out.shape());
  const bool in_place = require_apart_or_same(name, out, x);
  require_apart(name, out, weight);
  run_op_in_place<Norm, Row>(in_place, name, out, [&](auto types, auto to) {
    backend::rms_norm<decltype(types)>(x, weight, static_cast<f32>(options.eps), to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Root-mean-square normalisation over the last dimension (Zhang and Sennrich 2019): x / sqrt(mean x^2 + eps)
/// weight. x [..., C], weight [C] -> [..., C] in Activation; `out` is x itself or apart from it, and is apart
/// from weight. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray X, ScalarArray W>
void rms_norm_into(const X& x, const W& weight, const NormOptions& options, ResultOf<P, Norm> out,
                   const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::require_one_per_column("rms_norm", x.shape(), weight.shape());
  detail::rms_norm_of_view_into<precisions<P, Norm>>("rms_norm", as_view(x), as_view(weight), options,
                                                     out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray W>
auto rms_norm(const X& x, const W& weight, const NormOptions& options = {},
              const Context& context = current_context()) {
  return detail::into_new<P, Norm>(x.shape(), context,
                                   [&](auto out) { rms_norm_into<P>(x, weight, options, out); });
}

/// RMS normalisation of each head of queries or keys: x [..., H * D], weight [D] -> out [..., H * D],
/// which is x itself or apart from it, and apart from weight. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray X, ScalarArray W>
void rms_norm_heads_into(const X& x, const W& weight, const NormOptions& options, ResultOf<P, Norm> out,
                         const Context& context = current_context()) {
  const ContextScope scope(context);
  const Shape& shape = x.shape();
  if (shape.rank() == 0 || weight.shape().rank() != 1 || weight.elements() == 0 ||
      shape.back() % weight.elements() != 0)
    detail::shapes_do_not_fit("rms_norm_heads", shape, weight.shape(),
                              "are not [..., heads * D] and [D] with a D of 1 or more");
  detail::rms_norm_of_view_into<precisions<P, Norm>>("rms_norm_heads", as_view(x), as_view(weight), options,
                                                     out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray W>
auto rms_norm_heads(const X& x, const W& weight, const NormOptions& options = {},
                    const Context& context = current_context()) {
  return detail::into_new<P, Norm>(x.shape(), context,
                                   [&](auto out) { rms_norm_heads_into<P>(x, weight, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
