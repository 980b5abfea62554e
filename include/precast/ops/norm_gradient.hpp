// Gradients of layer and RMS normalisation. Means and deviations are recomputed from x, which is in the
// cache by then: this costs less than storing them.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/norm_gradient.hpp>
#include <precast/ops/norm_options.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/problem/context.hpp>

namespace precast {

struct NormGradientOptions {
  double eps = 1e-5;        ///< the eps of the forward norm
  bool accumulate = false;  ///< the gradients of parameters are added to what is there, and rounded once more
};

inline namespace PRECAST_BACKEND {

/// The gradient of layer_norm without parameters, for its input x [..., C], from dy [..., C], the gradient
/// of its result. Dtypes are those of gradient_precisions<P, Norm>. `dx` must not overlap x or dy. Throws
/// ShapeError where shapes differ.
template <PolicyType P, ScalarArray DY, ScalarArray X>
void layer_norm_gradient_into(const DY& dy, const X& x, const NormOptions& options, GradientOf<P> dx,
                              const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto x_gradient = dx.view();
  detail::require_same_shape("layer_norm_gradient", dy.shape(), x.shape());
  detail::require_same_shape("layer_norm_gradient", x.shape(), x_gradient.shape());
  detail::require_apart("layer_norm_gradient", x_gradient, as_view(dy), as_view(x));
  detail::run_gradients_into<Norm, gradient_precisions<P, Norm>>(
      "layer_norm_gradient",
      [&]<class Types>(Types, auto to) {
        backend::layer_norm_gradient<Types>(as_view(dy), as_view(x), View<const f32>(),
                                            static_cast<f32>(options.eps), GradientOptions{}, to, View<f32>(),
                                            View<f32>());
      },
      x_gradient);
}

/// The gradients of layer_norm with a weight and a bias [C]: of its input, and of both parameters, summed
/// over all rows in one order, or added to what `dweight` and `dbias` [C] hold. Outputs must not overlap
/// inputs. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray DY, ScalarArray X, ScalarArray W>
void layer_norm_gradient_into(const DY& dy, const X& x, const W& weight, const NormGradientOptions& options,
                              GradientOf<P> dx, ParameterGradientOf<P> dweight, ParameterGradientOf<P> dbias,
                              const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto x_gradient = dx.view();
  const auto weight_gradient = dweight.view(), bias_gradient = dbias.view();
  detail::require_same_shape("layer_norm_gradient", dy.shape(), x.shape());
  detail::require_same_shape("layer_norm_gradient", x.shape(), x_gradient.shape());
  for (const Shape& parameters : {weight.shape(), weight_gradient.shape(), bias_gradient.shape()})
    detail::require_one_per_column("layer_norm_gradient", x.shape(), parameters);
  const auto require_apart = [&](auto out) {
    detail::require_apart("layer_norm_gradient", out, as_view(dy), as_view(x), as_view(weight));
  };
  require_apart(x_gradient);
  require_apart(weight_gradient);
  require_apart(bias_gradient);
  detail::run_gradients_into<Norm, gradient_precisions<P, Norm>>(
      "layer_norm_gradient",
      [&]<class Types>(Types, auto to, auto to_weight, auto to_bias) {
        backend::layer_norm_gradient<Types>(as_view(dy), as_view(x), as_view(weight),
                                            static_cast<f32>(options.eps),
                                            GradientOptions{options.accumulate}, to, to_weight, to_bias);
      },
      x_gradient, weight_gradient, bias_gradient);
}

/// The gradients of rms_norm and rms_norm_heads: of the input x [..., C] and of the weight [D], where D
/// divides C and each D neighbours are normalised together. The latter is summed over all of them, or added
/// to what `dweight` [D] holds. Outputs must not overlap inputs. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray DY, ScalarArray X, ScalarArray W>
void rms_norm_gradient_into(const DY& dy, const X& x, const W& weight, const NormGradientOptions& options,
                            GradientOf<P> dx, ParameterGradientOf<P> dweight,
                            const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto x_gradient = dx.view();
  const auto weight_gradient = dweight.view();
  detail::require_same_shape("rms_norm_gradient", dy.shape(), x.shape());
  detail::require_same_shape("rms_norm_gradient", x.shape(), x_gradient.shape());
  if (x.shape().rank() == 0 || weight.shape().rank() != 1 || weight.elements() == 0 ||
      x.shape().back() % weight.elements() != 0)
    detail::shapes_do_not_fit("rms_norm_gradient", x.shape(), weight.shape(),
                              "are not [..., heads * D] and [D] with a D of 1 or more");
  detail::require_same_shape("rms_norm_gradient", weight.shape(), weight_gradient.shape());
  detail::require_apart("rms_norm_gradient", x_gradient, as_view(dy), as_view(x), as_view(weight));
  detail::require_apart("rms_norm_gradient", weight_gradient, as_view(dy), as_view(x), as_view(weight));
  detail::run_gradients_into<Norm, gradient_precisions<P, Norm>>(
      "rms_norm_gradient",
      [&]<class Types>(Types, auto to, auto to_weight) {
        backend::rms_norm_gradient<Types>(as_view(dy), as_view(x), as_view(weight),
                                          static_cast<f32>(options.eps), GradientOptions{options.accumulate},
                                          to, to_weight);
      },
      x_gradient, weight_gradient);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
