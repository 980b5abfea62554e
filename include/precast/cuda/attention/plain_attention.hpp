// Plain attention: scores are stored in the inside dtype, so that its overflow shows. Where nothing rounds
// them, they are not stored.
#pragma once

#include <type_traits>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/flash_attention.hpp>
#include <precast/cuda/attention/stored_scores.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/attention_kernels.hpp>
#include <precast/tensor/heads_view.hpp>

namespace precast::gpu {

/// Whether f32 scores and weights are those of values that tensor cores multiply exactly. Storing them
/// would round none: flash attention gives the same results without that memory, six times as fast, except
/// for the order of sums, and where sums of values before the division overflow f32.
template <class Types, class Q, class K, class V>
inline constexpr bool needs_no_stored_scores =
    detail::MultipliedHeads<typename Types::operand, Q, K, V>::whole_weights&&
        std::is_same_v<typename Types::accumulate, f32>&& std::is_same_v<typename Types::inside, f32> &&
    !Types::saturate;

/// host::plain_attention's contract. q, k and v are of the problem's sizes. Kernels are stamped for what
/// `Choice` has, and the problem must be one of it. Throws OutOfMemory, or Error where a launch fails.
template <class Types, class Choice, class Q, class K, class V>
void plain_attention(const AttentionProblem& problem, DeviceHeadsView<const Q> q, DeviceHeadsView<const K> k,
                     DeviceHeadsView<const V> v, DeviceHeadsView<typename Types::result> out, Stream stream) {
  if constexpr (needs_no_stored_scores<Types, Q, K, V>)
    flash_attention<Types, Choice>(problem, q, k, v, out, stream);
  else
    attention_by_stored_scores<Types>(problem, q, k, v, out, stream);
}

}  // namespace precast::gpu
