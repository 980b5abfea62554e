// Scores of attention on the device, computed once more for its gradients, and the logarithms of their sums.
#pragma once

#include <cstdint>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/gradient_tile.hpp>
#include <precast/cuda/attention/head_width.hpp>
#include <precast/cuda/attention/tiled_log_sums_kernel.hpp>
#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
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

/// A value as the forward op's operand, which the gradient's holds. One that is an operand already is not
/// rounded, and does not saturate.
template <class Operand, bool Saturates, class T>
PRECAST_DEVICE f32 operand_of(T value) {
  constexpr bool clamps = Saturates && !widens_exactly<Operand, T>;
  return rounded<Operand, clamps>(to_f32(value));
}

/// One more product of a sum that Types::accumulate keeps.
template <class Types>
PRECAST_DEVICE f32 add_product(f32 a, f32 b, f32 sum) {
  return planted<"accumulate ignored">(rounded_to<typename Types::accumulate>(multiply_then_add(a, b, sum)),
                                       multiply_then_add(a, b, sum));
}

/// An attention and what its scores are made of.
template <class Q, class K>
struct ScoresOf : AttentionShape {
  Heads<const Q> q;
  Heads<const K> k;

  PRECAST_DEVICE std::int64_t kv_head(std::int64_t head) const {
    return planted<"head of keys">(head / (heads / heads_kv), std::int64_t{0});
  }
  /// As the op keeps it: rounded to `inside`; -inf where the query does not see the key.
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

inline constexpr int gradient_threads = 128;

// A block has a query: a thread has each 128th of its keys.
template <class Types, class ForwardOperand, class Q, class K>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(gradient_threads, 1)
    log_sums_kernel(ScoresOf<Q, K> of, GlobalPointer<f32> log_sums) {
  const DividedIndex row = divide_index(block_index().x, of.queries);
  const DividedIndex place = divide_index(row.quotient, of.heads);  // a lambda of clang's captures no binding
  const auto score = [&](std::int64_t key) {
    return of.template score<Types, ForwardOperand>(place.quotient, place.rest, row.rest, key);
  };
  const f32 largest = largest_in_block<gradient_threads, struct LargestScores>(of.keys, score);
  const f32 base = planted<"largest not subtracted">(largest == -infinity ? 0.0f : largest, 0.0f);
  f32 sum = 0;
  for (std::int64_t key = thread_index(); key < of.keys; key += gradient_threads)
    sum += math::exp_of_negative(score(key) - base);
  sum = block_sum<gradient_threads, struct SumsOfScores>(sum);
  if (thread_index() == 0)
    log_sums[block_index().x] = largest == -infinity && sum == 0 ? -infinity : base + logf(sum);
}

// A warp has a query: the logarithm of what the row's weights add up to where they are made of its log_sum,
// which is what rounding has taken of that. 0 where it matters to none.
template <class Types, class ForwardOperand, class Q, class K>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(threads_per_warp, 1)
    rests_of_log_sums_kernel(ScoresOf<Q, K> of, GlobalPointer<const f32> log_sums, GlobalPointer<f32> rests) {
  const f32 log_sum = log_sums[block_index().x];
  f32 sum = 0;
  if (is_coarse_log_sum(log_sum)) {
    const DividedIndex row = divide_index(block_index().x, of.queries);
    const DividedIndex place = divide_index(row.quotient, of.heads);
    for (std::int64_t key = lane_index(); key < of.keys; key += threads_per_warp)
      sum += math::exp_of_negative(
          of.template score<Types, ForwardOperand>(place.quotient, place.rest, row.rest, key) - log_sum);
    sum = warp_sum(sum);
  }
  if (lane_index() == 0) rests[block_index().x] = sum > 0 ? logf(sum) : 0.0f;
}

/// Starts the kernel of tiles of queries that is made for a width.
template <class Types, class ForwardOperand, int Width, class Q, class K>
void launch_tiled_log_sums(const TiledLogSumsArguments<Q, K>& given, Stream stream) {
  constexpr int value_bytes = sizeof(HeldDtype<typename Types::operand>);
  constexpr GradientTile tile = select_gradient_tile(Width, value_bytes);
  const std::int64_t tiles =
      std::int64_t{ceil_divide(given.shape.queries, tile.rows)} * given.shape.heads * given.shape.batch;
  launch("tiled_log_sums", &tiled_log_sums_kernel<Types, ForwardOperand, Width, Q, K>,
         {{checked_int(tiles, "tiles"), 1, 1}, tile.threads(), tile.shared_bytes(Width, value_bytes, 1)},
         stream, given);
}

}  // namespace detail

/// log_sums [B, H, Sq] = log(sum e^score) of each row of scores, in f32; -inf where a row sees no key.
/// Kernels in tiles are stamped for what `Choice` has.
template <class Types, class ForwardOperand, class Choice, class Q, class K>
void log_sums_of_scores(const AttentionProblem& problem, DeviceHeadsView<const Q> q,
                        DeviceHeadsView<const K> k, DeviceView<f32> log_sums, Stream stream) {
  if (log_sums.elements() == 0) return;
  if constexpr (detail::has_tiled_gradient<Types, ForwardOperand>) {
    const detail::TiledLogSumsArguments<Q, K> given{detail::heads_in(q), detail::heads_in(k),
                                                    detail::shape_of(problem), pointer_to(log_sums)};
    const auto start = [&](auto width) {
      detail::launch_tiled_log_sums<Types, ForwardOperand, width()>(given, stream);
    };
    // As wide as the gradients' kernels take it, which go by the wider of keys and values.
    const std::int64_t widest = max_of(problem.width, problem.width_v);
    // Rows without a value have no place that tiles could be copied from.
    if (!given.shape.biased && problem.width > 0 &&
        detail::visit_head_width<detail::tiled_gradient_widths, Choice>(
            detail::checked_int(widest, "columns"), start))
      return;
  }
  // What the choice has leaves nothing to this kernel where tiles take all of it.
  if constexpr (!detail::has_tiled_gradient<Types, ForwardOperand> || detail::leaves_some_to_rows<Choice>)
    launch("log_sums_of_scores", detail::log_sums_kernel<Types, ForwardOperand, Q, K>,
           {{detail::checked_int(problem.batch * problem.heads * problem.queries, "rows"), 1, 1},
            detail::gradient_threads},
           stream, detail::scores_of(problem, q, k), pointer_to(log_sums));
}

}  // namespace precast::gpu
