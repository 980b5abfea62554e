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
#include <precast/cuda/attention/plain_attention.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::testing {

using gpu::Architecture;

inline AttentionProblem problem_of(const AttentionCase& c, const HostTensor<f32>& bias) {
  const f32 scale = c.scale.value_or(static_cast<f32>(1 / std::sqrt(static_cast<double>(c.width))));
  const View<const f32> added = c.biased ? on_device(bias) : View<const f32>();
  return {c.batch, c.heads,         c.kv_heads(), c.queries, c.keys,
          c.width, c.value_width(), scale,        c.causal,  added};
}

/// The kernels of the CUDA backend that a policy takes; without Flash those that store scores. Unless it is
/// null, `log_sums` gets the logarithms of the sums of rows.
template <class P, class Q, class K, class V>
void run_attention(const AttentionProblem& problem, HeadsView<const Q> q, HeadsView<const K> k,
                   HeadsView<const V> v, HeadsView<typename P::activation> out,
                   Architecture architecture = Architecture::sm_80,
                   gpu::GlobalPointer<f32> log_sums = nullptr) {
  using Types = precisions<P, Attention>;
  if constexpr (P::flash)
    gpu::flash_attention<Types>(problem, q, k, v, out, {}, architecture, log_sums);
  else
    gpu::attention_by_stored_scores<Types>(problem, q, k, v, out, {}, log_sums);
}

/// Into a tensor that is full of NaN before; from and to heads in the case's layout.
template <class P, class T, class Result = typename P::activation>
HostTensor<Result> attention_of(const AttentionCase& c, const AttentionInputs<T>& in,
                                Architecture architecture = Architecture::sm_80,
                                gpu::GlobalPointer<f32> log_sums = nullptr) {
  const HeadsInLayout q({c.batch, c.queries, c.heads, c.width}, c.layout, 8),
      k({c.batch, c.keys, c.kv_heads(), c.width}, c.layout, 8),
      v({c.batch, c.keys, c.kv_heads(), c.value_width()}, c.layout, 8),
      out({c.batch, c.queries, c.heads, c.value_width()}, c.layout, 8);
  const HostTensor<T> queries = q.spread(in.q), keys = k.spread(in.k), values = v.spread(in.v);
  HostTensor<Result> result(Shape{out.length}), joined(Shape{c.batch, c.queries, c.heads * c.value_width()});
  std::fill(result.values().begin(), result.values().end(), from_double<Result>(std::nan("")));
  run_attention<P>(problem_of(c, in.bias), q.of(queries.data()), k.of(keys.data()), v.of(values.data()),
                   out.of(result.data()), architecture, log_sums);
  out.each([&](std::int64_t here, std::int64_t place) { joined.data()[place] = result.data()[here]; });
  return joined;
}

/// Runs a case, of values of T, and says where it leaves its bounds.
template <class P, class T = typename P::activation>
std::string wrong_in(const AttentionCase& c, Architecture architecture = Architecture::sm_80) {
  const AttentionInputs<T> in(c);
  const AttentionReference<precisions<P, Attention>> reference(c, in, P::flash);
  return outside(attention_of<P>(c, in, architecture), reference.values, reference.bound());
}

}  // namespace precast::testing
