// Declarations of the kernels of attention, for either backend; documented at the definitions.
#pragma once

#include <precast/dtype/scalar.hpp>
#include <precast/problem/attention_choice.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/heads_view.hpp>

namespace precast::PRECAST_KERNELS {

template <class Types, class Choice = EveryAttention, class Q, class K, class V>
void plain_attention(const AttentionProblem& problem, HeadsView<const Q> q, HeadsView<const K> k,
                     HeadsView<const V> v, HeadsView<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class Choice = EveryAttention, class Q, class K, class V>
void flash_attention(const AttentionProblem& problem, HeadsView<const Q> q, HeadsView<const K> k,
                     HeadsView<const V> v, HeadsView<typename Types::result> out PRECAST_ON_STREAM);
template <class Q, class K>
f32 largest_score(const AttentionProblem& problem, HeadsView<const Q> q,
                  HeadsView<const K> k PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
