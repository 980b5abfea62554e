// Runs of attention's kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <support/attention.hpp>
#include <support/on_device.hpp>
#include <support/policies.hpp>

#include <precast/cuda/attention/flash_attention.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::testing {

using cuda::Architecture;

inline AttentionProblem problem_of(const AttentionCase& c, const HostTensor<f32>& bias) {
  const f32 scale = c.scale != 0 ? c.scale : static_cast<f32>(1 / std::sqrt(static_cast<double>(c.width)));
  const View<const f32> added = c.biased ? on_device(bias) : View<const f32>();
  return {c.batch, c.heads, c.queries, c.keys, c.width, scale, c.causal, added};
}

/// The kernels of the CUDA backend that a policy takes.
template <class P, class Q, class K, class V>
void run_attention(const AttentionProblem& problem, View<const Q> q, View<const K> k, View<const V> v,
                   View<typename P::activation> out, Architecture architecture = Architecture::sm_80) {
  using Types = precisions<P, Attention>;
  if constexpr (P::flash)
    cuda::flash_attention<Types>(problem, q, k, v, out, {}, architecture);
  else
    cuda::plain_attention<Types>(problem, q, k, v, out, {});
}

/// Into a tensor that is full of NaN before.
template <class P, class T>
HostTensor<T> attention_of(const AttentionCase& c, const AttentionInputs<T>& in,
                           Architecture architecture = Architecture::sm_80) {
  HostTensor<T> out(in.q.shape());
  std::fill(out.values().begin(), out.values().end(), from_double<T>(std::nan("")));
  run_attention<P>(problem_of(c, in.bias), on_device(in.q), on_device(in.k), on_device(in.v), on_device(out),
                   architecture);
  return out;
}

/// Runs a case and says where it leaves its bounds.
template <class P>
std::string wrong_in(const AttentionCase& c, Architecture architecture = Architecture::sm_80) {
  const AttentionInputs<typename P::activation> in(c);
  const AttentionReference<precisions<P, Attention>> reference(c, in, P::flash);
  return outside(attention_of<P>(c, in, architecture), reference.values, reference.bound());
}

}  // namespace precast::testing
