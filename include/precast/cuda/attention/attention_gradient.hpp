// Attention's gradients on the device, in tiles (tiled_gradient_kernel.hpp). Where tiles do not apply
// (narrow sums, biases, heads of more than 128 columns), a block has a row of queries or of keys, and
// recomputes the weights of that row, 128 at a time: correct, in a fixed order, and slow.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <precast/cuda/attention/attention_scores.hpp>
#include <precast/cuda/attention/flash_attention.hpp>
#include <precast/cuda/attention/gradient_tile.hpp>
#include <precast/cuda/attention/head_width.hpp>
#include <precast/cuda/attention/plain_attention.hpp>
#include <precast/cuda/attention/rests_of_log_sums.hpp>
#include <precast/cuda/attention/tiled_gradient_kernel.hpp>
#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
#include <precast/problem/math.hpp>
#include <precast/tensor/heads_view.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

inline constexpr int gradient_threads = 128;

/// The inputs of the gradients of scores, besides the scores.
template <class DO, class V>
struct GradientOf {
  Heads<const DO> dout;
  Heads<const V> v;
  GlobalPointer<const f32> log_sums, rests, deltas;
};

/// The weight of a key for a query, and the gradient of its score, as operands of products.
struct WeightAndGradient {
  f32 weight = 0, gradient = 0;
};
template <class Types, class ForwardOperand, class Q, class K, class DO, class V>
PRECAST_DEVICE WeightAndGradient weight_and_gradient(const ScoresOf<Q, K>& of, const GradientOf<DO, V>& from,
                                                     std::int64_t batch, std::int64_t head,
                                                     std::int64_t query, std::int64_t key) {
  using Inside = typename Types::inside;
  using Operand = typename Types::operand;
  const auto kept = [](f32 x) { return planted<"inside ignored">(rounded<Inside, Types::saturate>(x), x); };
  if (!of.sees(query, key)) return {};
  const std::int64_t row = of.row_of_scores(batch, head, query);
  const f32 log_sum = from.log_sums[row];
  const f32 score = of.template score<Types, ForwardOperand>(batch, head, query, key);
  const f32 weight =
      kept(math::exp_of_negative((score - (log_sum == -infinity ? 0.0f : log_sum)) - from.rests[row]));
  const auto left = row_of(from.dout, batch, head, query);
  const auto right = row_of(from.v, batch, of.kv_head(head), key);
  f32 product = 0;
  for (std::int64_t d = 0; d < of.width_v; ++d)
    product = add_product<Types>(operand_of<Operand, Types::saturate>(left[d]),
                                 operand_of<ForwardOperand, Types::saturate>(right[d]), product);
  const f32 gradient =
      kept(weight * (kept(product) - planted<"delta not subtracted">(from.deltas[row], 0.0f)));
  return {rounded_to<Operand>(weight), rounded<Operand, Types::saturate>(gradient)};
}

// One block per query: the delta of its row, the sum of dout * out.
template <class DO, class O>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(gradient_threads, 1)
    deltas_kernel(Heads<const DO> dout, Heads<const O> out, std::int64_t queries, std::int64_t heads,
                  std::int64_t width_v, GlobalPointer<f32> deltas) {
  const auto [index, query] = divide_index(block_index().x, queries);
  const auto [batch, head] = divide_index(index, heads);
  const auto gradient = row_of(dout, batch, head, query);
  const auto result = row_of(out, batch, head, query);
  f32 sum = 0;
  for (std::int64_t d = thread_index(); d < width_v; d += gradient_threads)
    sum += to_f32(gradient[d]) * to_f32(result[d]);
  sum = block_sum<gradient_threads, struct Deltas>(sum);
  if (thread_index() == 0) deltas[block_index().x] = sum;
}

// One block per query: it stores the gradients of 128 scores in shared memory, then each thread adds their
// products for its columns, over all keys in their order.
template <class Types, class ForwardOperand, class Q, class K, class DO, class V>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(gradient_threads, 1)
    query_gradient_kernel(ScoresOf<Q, K> of, GradientOf<DO, V> from, Heads<typename Types::result> dq) {
  const auto gradients = static_shared<f32, gradient_threads, struct GradientsOfScores>();
  const auto [index, query] = divide_index(block_index().x, of.queries);
  const auto [batch, head] = divide_index(index, of.heads);
  // One round for each 128 columns: a thread has one of them.
  for (std::int64_t first_column = 0; first_column < of.width; first_column += gradient_threads) {
    const std::int64_t column = first_column + thread_index();
    f32 sum = 0;
    for (std::int64_t first = 0; first < of.keys; first += gradient_threads) {
      const std::int64_t key = first + thread_index();
      gradients[thread_index()] =
          key < of.keys
              ? weight_and_gradient<Types, ForwardOperand>(of, from, batch, head, query, key).gradient
              : 0.0f;
      sync_block();
      const std::int64_t count = min_of<std::int64_t>(gradient_threads, of.keys - first);
      if (column < of.width)
        for (std::int64_t j = 0; j < count; ++j)
          sum = add_product<Types>(gradients[j],
                                   operand_of<ForwardOperand, Types::saturate>(
                                       row_of(of.k, batch, of.kv_head(head), first + j)[column]),
                                   sum);
      sync_block();
    }
    if (column < of.width)
      row_of(dq, batch, head, query)[column] = round_to<typename Types::result, Types::saturate>(
          sum * planted<"scale of queries">(of.scale, 1.0f));
  }
}

// One block per key: it stores the weights of 128 queries and the gradients of their scores in shared
// memory, then each thread adds their products for its columns, over all heads and queries in their order.
template <class Types, class ForwardOperand, class Q, class K, class DO, class V>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(gradient_threads, 1)
    key_gradient_kernel(ScoresOf<Q, K> of, GradientOf<DO, V> from, Heads<typename Types::result> dk,
                        Heads<typename Types::result> dv) {
  using Result = typename Types::result;
  const auto gradients = static_shared<f32, gradient_threads, struct GradientsOfColumn>();
  const auto weights = static_shared<f32, gradient_threads, struct WeightsOfColumn>();
  const auto [index, key] = divide_index(block_index().x, of.keys);
  const auto [batch, kv_head] = divide_index(index, of.heads_kv);
  const std::int64_t group = of.heads / of.heads_kv, widest = max_of(of.width, of.width_v);
  for (std::int64_t first_column = 0; first_column < widest; first_column += gradient_threads) {
    const std::int64_t column = first_column + thread_index();
    f32 sum_k = 0, sum_v = 0;
    for (std::int64_t head = kv_head * group;
         head < planted<"one head of a group">((kv_head + 1) * group, kv_head * group + 1); ++head)
      for (std::int64_t first = 0; first < of.queries; first += gradient_threads) {
        const std::int64_t query = first + thread_index();
        WeightAndGradient one;
        if (query < of.queries)
          one = weight_and_gradient<Types, ForwardOperand>(of, from, batch, head, query, key);
        weights[thread_index()] = one.weight;
        gradients[thread_index()] = one.gradient;
        sync_block();
        const std::int64_t count = min_of<std::int64_t>(gradient_threads, of.queries - first);
        for (std::int64_t i = 0; i < count; ++i) {
          if (column < of.width)
            sum_k = add_product<Types>(
                gradients[i],
                operand_of<ForwardOperand, Types::saturate>(row_of(of.q, batch, head, first + i)[column]),
                sum_k);
          if (column < of.width_v)
            sum_v = add_product<Types>(weights[i],
                                       operand_of<typename Types::operand, Types::saturate>(
                                           row_of(from.dout, batch, head, first + i)[column]),
                                       sum_v);
        }
        sync_block();
      }
    if (column < of.width)
      row_of(dk, batch, kv_head, key)[column] =
          round_to<Result, Types::saturate>(sum_k * planted<"scale of keys">(of.scale, 1.0f));
    if (column < of.width_v)
      row_of(dv, batch, kv_head, key)[column] = round_to<Result, Types::saturate>(sum_v);
  }
}

/// Starts the tiled kernels: of `rests`, which `given` reads, then of the gradients by tiles of queries and
/// by tiles of keys, all of the first width that holds a head's. Returns false where none does. Kernels are
/// stamped for the widths of `Choice`.
template <class Types, class ForwardOperand, class Choice, class Q, class K, class V, class DO>
bool launch_tiled_gradient(const TiledGradientArguments<Q, K, V, DO, typename Types::result>& given,
                           GlobalPointer<f32> rests, Stream stream) {
  const AttentionShape& shape = given.shape;
  constexpr int value_bytes = sizeof(HeldDtype<typename Types::operand>);
  return visit_head_width<tiled_gradient_widths, Choice>(max_of(shape.width, shape.width_v), [&](auto known) {
    constexpr GradientTile tile = select_gradient_tile(known(), value_bytes);
    const auto tiles = [&](bool of_keys, int matrices) -> LaunchShape {
      const std::int64_t count = std::int64_t{ceil_divide(of_keys ? shape.keys : shape.queries, tile.rows)} *
                                 (of_keys ? shape.heads_kv : shape.heads) * shape.batch;
      return {{checked_int(count, "tiles"), 1, 1},
              tile.threads(),
              tile.shared_bytes(known(), value_bytes, matrices)};
    };
    const auto start = [&](auto of_keys) {
      launch(of_keys() ? "tiled_key_gradient" : "tiled_query_gradient",
             &tiled_gradient_kernel<Types, ForwardOperand, known(), of_keys(), Q, K, V, DO>,
             tiles(of_keys(), 2), stream, given);
    };
    launch("tiled_rests", &tiled_rests_kernel<Types, ForwardOperand, known(), Q, K>, tiles(false, 1), stream,
           TiledRestsArguments<Q, K>{given.q, given.k, shape, given.log_sums, rests});
    start(std::false_type{});
    start(std::true_type{});
  });
}

}  // namespace detail

/// plain_attention, or flash_attention, which also writes to `log_sums` [B, H, Sq] the logarithm of the sum
/// of e^score of each row, in f32: -inf where a row sees no key.
template <class Types, bool Flash, class Choice, class Q, class K, class V>
void attention_with_log_sums(const AttentionProblem& problem, DeviceHeadsView<const Q> q,
                             DeviceHeadsView<const K> k, DeviceHeadsView<const V> v,
                             DeviceHeadsView<typename Types::result> out, DeviceView<f32> log_sums,
                             Stream stream) {
  if constexpr (Flash || needs_no_stored_scores<Types, Q, K, V>)
    flash_attention<Types, Choice>(problem, q, k, v, out, stream, current_architecture(),
                                   pointer_to(log_sums));
  else
    attention_by_stored_scores<Types>(problem, q, k, v, out, stream, pointer_to(log_sums));
}

/// dq, dk and dv of an attention whose result is `out`, from dout, the gradient of its result. Operands,
/// sums and intermediates are rounded as Types says; scores are computed from operands in ForwardOperand.
template <class Types, class ForwardOperand, class Choice, class DO, class Q, class K, class V, class O>
void attention_gradient(const AttentionProblem& problem, DeviceHeadsView<const DO> dout,
                        DeviceHeadsView<const Q> q, DeviceHeadsView<const K> k, DeviceHeadsView<const V> v,
                        DeviceHeadsView<const O> out, DeviceView<const f32> log_sums,
                        DeviceHeadsView<typename Types::result> dq,
                        DeviceHeadsView<typename Types::result> dk,
                        DeviceHeadsView<typename Types::result> dv, Stream stream) {
  watch::ran_in<Types>();
  const std::int64_t rows = problem.batch * problem.heads * problem.queries,
                     keys = problem.batch * problem.heads_kv * problem.keys;
  const StreamScope scope(stream);  // of the deltas and the rests
  Tensor<f32, DeviceMemory> deltas(Shape{max_of<std::int64_t>(rows, 1)}), rests(deltas.shape());
  launch("attention_deltas", detail::deltas_kernel<DO, O>,
         {{detail::checked_int(rows, "rows"), 1, 1}, detail::gradient_threads}, stream,
         detail::heads_in(dout), detail::heads_in(out), problem.queries, problem.heads, problem.width_v,
         pointer_to(deltas.view()));
  if constexpr (detail::has_tiled_gradient<Types, ForwardOperand>) {
    const detail::TiledGradientArguments<Q, K, V, DO, typename Types::result> given{
        detail::heads_in(q),
        detail::heads_in(k),
        detail::heads_in(v),
        detail::heads_in(dout),
        detail::heads_in(dq),
        detail::heads_in(dk),
        detail::heads_in(dv),
        detail::shape_of(problem),
        pointer_to(log_sums),
        pointer_to(std::as_const(rests).view()),
        pointer_to(std::as_const(deltas).view())};
    // Rows without values have no memory that tiles could be copied from.
    const bool has_values =
        problem.width > 0 && (problem.width_v > 0 || !detail::leaves_some_to_rows<Choice>);
    if (!given.shape.biased && has_values &&
        detail::launch_tiled_gradient<Types, ForwardOperand, Choice>(given, pointer_to(rests.view()), stream))
      return;
  }
  // Where tiles take all of the choice, these kernels are not stamped.
  if constexpr (!detail::has_tiled_gradient<Types, ForwardOperand> || detail::leaves_some_to_rows<Choice>) {
    const auto scores = detail::scores_of(problem, q, k);
    launch("rests", detail::rests_kernel<Types, ForwardOperand, Q, K>,
           {{detail::checked_int(rows, "rows"), 1, 1}, threads_per_warp}, stream, scores,
           pointer_to(log_sums), pointer_to(rests.view()));
    const detail::GradientOf<DO, V> from{detail::heads_in(dout), detail::heads_in(v), pointer_to(log_sums),
                                         pointer_to(std::as_const(rests).view()),
                                         pointer_to(std::as_const(deltas).view())};
    launch("query_gradient", detail::query_gradient_kernel<Types, ForwardOperand, Q, K, DO, V>,
           {{detail::checked_int(rows, "rows"), 1, 1}, detail::gradient_threads}, stream, scores, from,
           detail::heads_in(dq));
    launch("key_gradient", detail::key_gradient_kernel<Types, ForwardOperand, Q, K, DO, V>,
           {{detail::checked_int(keys, "rows"), 1, 1}, detail::gradient_threads}, stream, scores, from,
           detail::heads_in(dk), detail::heads_in(dv));
  }
}

}  // namespace precast::gpu
