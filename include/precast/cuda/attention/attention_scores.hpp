// Scores of attention on the device, recomputed for its gradients, value by value.
#pragma once

#include <cstdint>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/problem/math.hpp>
#include <precast/tensor/heads_view.hpp>

namespace precast::gpu {

namespace detail {

/// A row of a head.
template <class T>
PRECAST_DEVICE GlobalPointer<T> row_of(const Heads<T>& heads, std::int64_t batch, std::int64_t head,
                                       std::int64_t row) {
  return heads.first(static_cast<int>(batch), static_cast<int>(head)) + row * heads.stride;
}

/// A value rounded to the forward op's operand, which the gradient's operand holds. A value that is an
/// operand already is neither rounded nor clamped.
template <class Operand, bool Saturates, class T>
PRECAST_DEVICE f32 operand_of(T value) {
  constexpr bool clamps = Saturates && !widens_exactly<Operand, T>;
  return rounded<Operand, clamps>(to_f32(value));
}

/// Adds a product to a sum that is kept as Types::accumulate.
template <class Types>
PRECAST_DEVICE f32 add_product(f32 a, f32 b, f32 sum) {
  return planted<"accumulate ignored">(rounded_to<typename Types::accumulate>(multiply_then_add(a, b, sum)),
                                       multiply_then_add(a, b, sum));
}

/// An attention's sizes, and the queries and keys of its scores.
template <class Q, class K>
struct ScoresOf : AttentionShape {
  Heads<const Q> q;
  Heads<const K> k;

  PRECAST_DEVICE std::int64_t kv_head(std::int64_t head) const {
    return planted<"head of keys">(head / (heads / heads_kv), std::int64_t{0});
  }
  /// The score as the op keeps it: rounded to `inside`; -inf where the query does not see the key.
  template <class Types, class ForwardOperand>
  PRECAST_DEVICE f32 score(std::int64_t sample, std::int64_t head, std::int64_t query,
                           std::int64_t key) const {
    if (!sees(query, key)) return -infinity;
    const auto left = row_of(q, sample, head, query);
    const auto right = row_of(k, sample, kv_head(head), key);
    f32 sum = 0;
    for (std::int64_t d = 0; d < width; ++d)
      sum = add_product<Types>(operand_of<ForwardOperand, Types::saturate>(left[d]),
                               operand_of<ForwardOperand, Types::saturate>(right[d]), sum);
    const f32 added = biased ? bias_row(static_cast<int>(head), static_cast<int>(query))[key] : 0.0f;
    const f32 scaled = biased ? multiply_then_add(sum, scale, added) : math::rounded_product(sum, scale);
    using Inside = typename Types::inside;
    if (rounding_unmasks<Inside, Types::saturate> && added == -infinity) return added;  // it stays masked
    return planted<"inside ignored">(rounded<Inside, Types::saturate>(scaled), scaled);
  }
};

template <class Q, class K>
ScoresOf<Q, K> scores_of(const AttentionProblem& problem, const DeviceHeadsView<const Q>& q,
                         const DeviceHeadsView<const K>& k) {
  return {shape_of(problem), heads_in(q), heads_in(k)};
}

}  // namespace detail

}  // namespace precast::gpu
