// Attention in training, and its gradients (Dao 2023): weights are recomputed in tiles, and no array has
// the size of the scores.
#pragma once

#include <cstdint>

#include <precast/host/attention/flash_attention.hpp>
#include <precast/host/attention/head_gradient.hpp>
#include <precast/host/attention/packed_batches.hpp>
#include <precast/host/attention/plain_attention.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// attention_gradient for batches that are packed together.
template <class Types, class ForwardOperand, class DO, class Q, class K, class V, class O>
void attention_gradient_of_batches(const AttentionProblem& problem, HostHeadsView<const DO> dout,
                                   HostHeadsView<const Q> q, HostHeadsView<const K> k,
                                   HostHeadsView<const V> v, HostHeadsView<const O> out, const f32* log_sums,
                                   HostHeadsView<typename Types::result> dq,
                                   HostHeadsView<typename Types::result> dk,
                                   HostHeadsView<typename Types::result> dv) {
  using Head = HeadGradient<Types, ForwardOperand>;
  const PackedForGradients<Types, ForwardOperand> packed(problem, dout, q, k, v);
  const std::int64_t tasks = problem.batch * problem.heads_kv, group = problem.heads / problem.heads_kv;
  task_memory(tasks, Head::bytes(problem, packed));
  parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t batch = task / problem.heads_kv, kv_head = task % problem.heads_kv;
    Head gradient(problem, packed);
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (std::int64_t block = 0; block * queries_per_block < problem.queries; ++block)
        gradient.add_queries(batch, head, block, dout, q, out,
                             log_sums + (batch * problem.heads + head) * problem.queries, dq);
    gradient.store_keys_and_values(batch, kv_head, dk, dv);
  });
}

}  // namespace detail

/// plain_attention or flash_attention that also writes the f32 logsumexp of each row of scores into
/// `log_sums` [B, H, Sq]: -inf where a row sees no key.
template <class Types, bool Flash, class Choice, class Q, class K, class V>
void attention_with_log_sums(const AttentionProblem& problem, HostHeadsView<const Q> q,
                             HostHeadsView<const K> k, HostHeadsView<const V> v,
                             HostHeadsView<typename Types::result> out, HostView<f32> log_sums) {
  watch::ran_in<Types>();
  if constexpr (Flash)
    detail::flash_attention_of_rows<Types>(problem, q, k, v, out, log_sums.data());
  else
    detail::plain_attention_of_rows<Types>(problem, q, k, v, out, log_sums.data());
}

/// dq, dk and dv of an attention whose result is `out`, from the gradient of `out`. Operands, sums and
/// intermediates are rounded as Types says; scores are computed from operands in ForwardOperand. A task has
/// one head of keys and values, and visits its queries in order.
template <class Types, class ForwardOperand, class Choice, class DO, class Q, class K, class V, class O>
void attention_gradient(const AttentionProblem& problem, HostHeadsView<const DO> dout,
                        HostHeadsView<const Q> q, HostHeadsView<const K> k, HostHeadsView<const V> v,
                        HostHeadsView<const O> out, HostView<const f32> log_sums,
                        HostHeadsView<typename Types::result> dq, HostHeadsView<typename Types::result> dk,
                        HostHeadsView<typename Types::result> dv) {
  watch::ran_in<Types>();
  using Head = detail::HeadGradient<Types, ForwardOperand>;
  detail::for_packed_batches(problem, Head::PackedOfAll::bytes_of_batch(problem),
                             [&](const AttentionProblem& part, std::int64_t first) {
                               const auto of_part = [&](const auto& heads) {
                                 return detail::batches_between(heads, first, part.batch);
                               };
                               detail::attention_gradient_of_batches<Types, ForwardOperand>(
                                   part, of_part(dout), of_part(q), of_part(k), of_part(v), of_part(out),
                                   log_sums.data() + first * problem.heads * problem.queries, of_part(dq),
                                   of_part(dk), of_part(dv));
                             });
}

}  // namespace precast::host
