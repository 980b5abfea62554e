// Kernels of a training step for parameters and their gradients, besides ops. One unit for all precisions:
// on a device, gradients of tables and counts of powers use CUB, which takes nvcc longer than the kernels.
#include <training.hpp>

#include <precast/backend/convert.hpp>
#include <precast/backend/embedding_gradient.hpp>
#include <precast/backend/exponent_histogram.hpp>
#include <precast/backend/optimiser.hpp>

namespace precast::kernels::trained {
namespace {

template <class From, class To>
constexpr auto conversion = &backend::convert_values<To, false, View<const From>>;

/// The conversions of gradients to and from messages between ranks; null on the host.
template <class Gradient, class... Message>
constexpr auto messages() {
  if constexpr (backend::Memory::on_host)
    return nullptr;
  else
    return std::tuple(conversion<Gradient, Message>..., conversion<Message, Gradient>...);
}

template <class P, class Types>
struct TableGradient {
  static constexpr std::tuple functions{&backend::embedding_gradient<Types, In<P>>};
};

template <class P>
struct Parameters {
  using Gradient = ParameterGradient<P>;
  static constexpr std::tuple functions{
      with_f32_counterpart<TableGradient, P, parameter_gradient_precisions<P, Reduction>>(),
      &backend::unscale_gradients<Gradient>,
      &backend::scale_gradients<Gradient>,
      &backend::count_exponents<Gradient>,
      &backend::clear_values<Gradient>,
      &backend::clear_values<Master<P>>,
      &backend::adamw<Master<P>, Stored<P>>,
      conversion<Master<P>, Stored<P>>,
      conversion<Stored<P>, f32>,
      messages<Gradient, f32, bf16, f16>(),
      &backend::scale_gradients<f32>};  // in a message
};

[[gnu::used, maybe_unused]] constexpr auto trained_parameters = addresses<Parameters>();

}  // namespace
}  // namespace precast::kernels::trained
