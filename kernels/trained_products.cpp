// Products of language models in training: with weights as they are stored, and of gradients.
#include <matmul_kernels.hpp>
#include <training.hpp>

#include <precast/backend/convert.hpp>
#include <precast/backend/product_gradient.hpp>
#include <precast/ops/matmul.hpp>

namespace precast::kernels::trained {
namespace {

template <class P, class Types>
struct Linear {
  using Row = with_storage<Types, Stored<P>>;
  using Product = Overload<void, View<const In<P>>, StoredView<const Stored<P>>, const Epilogue&,
                           View<typename Types::result>>;
  static constexpr std::tuple functions{Product(&backend::matmul_transposed<Row, In<P>>)};
};
template <class P, class Types>
struct InputGradient {
  static constexpr std::tuple functions{&backend::multiply<with_storage<Types, Stored<P>>, In<P>, Stored<P>>};
};
template <class P, class Types>
struct WeightGradient {
  static constexpr std::tuple functions{
      &backend::multiply_over_rows<with_storage<Types, In<P>>, In<P>, In<P>>};
};
template <class P, class Types>
struct BiasGradient {
  static constexpr std::tuple functions{&backend::sum_of_rows<Types, In<P>>};
};
/// The rounding of a linear layer's result or gradient, where the policy has one.
template <class P, class Rounded, class T>
constexpr auto rounding() {
  if constexpr (std::is_same_v<Rounded, T>)
    return nullptr;
  else
    return &backend::round_in_place<Rounded, P::saturate, T>;
}

template <class P>
struct Products {
  static constexpr std::tuple functions{
      with_f32_counterpart<Linear, P, precisions<P, Matmul>>(),
      with_f32_counterpart<InputGradient, P, gradient_precisions<P, Matmul>>(),
      with_f32_counterpart<WeightGradient, P, parameter_gradient_precisions<P, Matmul>>(),
      with_f32_counterpart<BiasGradient, P, parameter_gradient_precisions<P, Reduction>>(),
      rounding<P, typename training<P>::product, In<P>>(),
      rounding<P, typename training<P>::parameter_product, ParameterGradient<P>>()};
};

[[gnu::used, maybe_unused]] constexpr auto trained_products = addresses<Products>();

}  // namespace
}  // namespace precast::kernels::trained
