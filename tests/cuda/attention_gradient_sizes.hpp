// The sizes of one case of attention's gradients, in the proofs of their kernels.
#pragma once

#include <cstdint>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/attention_problem.hpp>

namespace precast::testing {

struct AttentionGradientSizes {
  std::int64_t batch, heads, heads_kv, queries, keys, width, width_v;
  bool causal;
  f32 scale;
  double of_dout = 1;  ///< the size of the gradients of results

  AttentionProblem problem() const {
    return {.batch = batch,
            .heads = heads,
            .heads_kv = heads_kv,
            .queries = queries,
            .keys = keys,
            .width = width,
            .width_v = width_v,
            .scale = scale,
            .causal = causal};
  }
};

}  // namespace precast::testing
