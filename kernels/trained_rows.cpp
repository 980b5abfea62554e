// Norms, functions of values, positions and losses of language models in training, and their gradients.
#include <training.hpp>

#include <precast/backend/embedding.hpp>
#include <precast/backend/layer_norm.hpp>
#include <precast/backend/loss.hpp>
#include <precast/backend/loss_gradient.hpp>
#include <precast/backend/norm_gradient.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/backend/pointwise_gradient.hpp>
#include <precast/backend/rms_norm.hpp>
#include <precast/backend/rotation.hpp>
#include <precast/problem/broadcast.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/elementwise_gradient.hpp>

namespace precast::kernels::trained {
namespace {

template <class P>
using Values = View<const In<P>>;

/// A function of problem/elementwise.hpp over arrays.
template <class Types, class F, class... Arrays>
constexpr auto map = &backend::map_values<Types, F, Arrays...>;

template <class P, class Types>
struct Functions {
  static constexpr std::tuple functions{
      map<Types, elementwise::GeluTanh, Values<P>>,
      map<Types, elementwise::GeluErf, Values<P>>,
      map<Types, elementwise::GatedProduct<elementwise::Silu>, Values<P>, Values<P>>,
      map<Types, elementwise::Add, Values<P>, Values<P>>,
      map<Types, elementwise::Add, Values<P>, RowBroadcast<In<P>>>,
      map<Types, elementwise::Add, Values<P>, View<const Stored<P>>>,
      map<Types, elementwise::Add, Values<P>, RowBroadcast<Stored<P>>>,
      &backend::embedding<Types, Stored<P>>};
};

template <class P, class Types>
struct FunctionGradients {
  static constexpr std::tuple functions{
      map<Types, elementwise::ActivationGradient<elementwise::GeluTanh>, Values<P>, Values<P>>,
      map<Types, elementwise::ActivationGradient<elementwise::GeluErf>, Values<P>, Values<P>>,
      &backend::gated_product_gradient<Types, elementwise::Silu, In<P>, In<P>, In<P>>};
};

template <class P, class Types>
struct Norms {
  static constexpr std::tuple functions{&backend::layer_norm<Types, In<P>, Stored<P>>,
                                        &backend::rms_norm<Types, In<P>, Stored<P>>};
};
template <class P, class Types>
struct NormGradients {
  /// Of parameters; f32 in a row of f32.
  using G =
      std::conditional_t<std::is_same_v<Types, gradient_precisions<P, Norm>>, ParameterGradient<P>, f32>;
  static constexpr std::tuple functions{&backend::layer_norm_gradient<Types, In<P>, In<P>, Stored<P>, G>,
                                        &backend::rms_norm_gradient<Types, In<P>, In<P>, Stored<P>, G>};
};

template <class P, class Types>
struct Rotations {
  static constexpr std::tuple functions{&backend::rotate<Types, In<P>>};
};
template <class P, class Types>
struct Losses {
  static constexpr std::tuple functions{&backend::cross_entropy<Types, In<P>>};
};
template <class P, class Types>
struct LossGradients {
  static constexpr std::tuple functions{&backend::cross_entropy_gradient<Types, In<P>>};
};

template <class P>
struct Rows {
  static constexpr std::tuple functions{
      with_f32_counterpart<Functions, P, precisions<P, Pointwise>>(),
      with_f32_counterpart<FunctionGradients, P, gradient_precisions<P, Pointwise>>(),
      with_f32_counterpart<Norms, P, precisions<P, Norm>>(),
      with_f32_counterpart<NormGradients, P, gradient_precisions<P, Norm>>(),
      with_f32_counterpart<Rotations, P, precisions<P, Position>>(),
      with_f32_counterpart<Losses, P, precisions<P, Loss>>(),
      with_f32_counterpart<LossGradients, P, gradient_precisions<P, Loss>>()};
};

[[gnu::used, maybe_unused]] constexpr auto trained_rows = addresses<Rows>();

}  // namespace
}  // namespace precast::kernels::trained
