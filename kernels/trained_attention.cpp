// Attention of language models in training, and as precast bench attention measures it, and its gradients.
#include <attention_kernels.hpp>
#include <timed_attention.hpp>
#include <training.hpp>

#include <precast/backend/attention_gradient.hpp>
#include <precast/backend/flash_attention.hpp>
#include <precast/backend/largest_score.hpp>
#include <precast/backend/plain_attention.hpp>
#include <precast/problem/attention_choice.hpp>

namespace precast::kernels::trained {
namespace {

using Choice = chosen_attention<WithoutBias>;

/// A gradient recomputes scores from operands in the dtype that the op itself multiplied.
template <class P>
using ForwardOperand = typename precisions<P, Attention>::operand;

template <class P, class Types>
struct Forward {
  using Kernel = Attends<In<P>, typename Types::result>;
  static constexpr Kernel kernel = [] {
    if constexpr (P::flash)
      return Kernel(&backend::flash_attention<Types, Choice, In<P>, In<P>, In<P>>);
    else
      return Kernel(&backend::plain_attention<Types, Choice, In<P>, In<P>, In<P>>);
  }();
  static constexpr std::tuple functions{kernel};
};
template <class P, class Types>
struct Gradient {
  static constexpr std::tuple functions{
      &backend::attention_gradient<Types, ForwardOperand<P>, Choice, In<P>, In<P>, In<P>, In<P>, In<P>>};
};
template <class P>
constexpr auto probe() {
  if constexpr (watch::compiled)
    return &backend::largest_score<In<P>, In<P>>;
  else
    return nullptr;
}

template <class P>
struct AttentionInTraining {
  static constexpr std::tuple functions{
      &backend::attention_with_log_sums<precisions<P, Attention>, P::flash, Choice, In<P>, In<P>, In<P>>,
      probe<P>(), with_f32_counterpart<Forward, P, precisions<P, Attention>>(),
      with_f32_counterpart<Gradient, P, gradient_precisions<P, Attention>>()};
};

[[gnu::used, maybe_unused]] constexpr auto trained_attention = addresses<AttentionInTraining>();
[[gnu::used, maybe_unused]] constexpr auto timed_attention = addresses<AttentionInTraining, TimedPolicies>();

}  // namespace
}  // namespace precast::kernels::trained
