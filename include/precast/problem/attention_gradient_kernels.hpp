// Declarations of the kernels of attention in training, for either backend; documented at the definitions.
#pragma once

#include <cmath>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/heads_view.hpp>

namespace precast {

/// Whether rounding may have cost a row's log-sum so much that weights computed from it do not add up to 1:
/// for n scores of -1e10, as a mask makes them, log n is lost.
PRECAST_HOST_DEVICE bool is_coarse_log_sum(f32 log_sum) {
  const f32 size = std::fabs(log_sum);
  return size >= 1024.0f && size <= 3.402823466e38f;  // -inf for a row that sees no key
}

}  // namespace precast

// ForwardOperand is the operand dtype of the forward op: scores are recomputed from the same operands.
// Choice is what attention is compiled for (attention_choice.hpp); the problem must satisfy it.
namespace precast::PRECAST_KERNELS {

template <class Types, bool Flash, class Choice, class Q, class K, class V>
void attention_with_log_sums(const AttentionProblem& problem, HeadsView<const Q> q, HeadsView<const K> k,
                             HeadsView<const V> v, HeadsView<typename Types::result> out,
                             View<f32> log_sums PRECAST_ON_STREAM);
template <class Types, class ForwardOperand, class Choice, class DO, class Q, class K, class V, class O>
void attention_gradient(const AttentionProblem& problem, HeadsView<const DO> dout, HeadsView<const Q> q,
                        HeadsView<const K> k, HeadsView<const V> v, HeadsView<const O> out,
                        View<const f32> log_sums, HeadsView<typename Types::result> dq,
                        HeadsView<typename Types::result> dk,
                        HeadsView<typename Types::result> dv PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
