// Launches flash attention.
#pragma once

#include <limits>

#include <precast/cuda/attention/flash_kernel.hpp>
#include <precast/cuda/attention/head_width.hpp>
#include <precast/cuda/attention/stored_scores.hpp>
#include <precast/cuda/attention/warpgroup_kernel.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/memory/memory_counter.hpp>
#include <precast/problem/attention_kernels.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// One instance of the kernel.
template <class Operand, bool WholeWeights, int Width, class Selector, bool Biased, bool Saturates, class Q,
          class K, class V, class Result>
void launch_flash_attention(const FlashArguments<Q, K, V, Result>& arguments, Stream stream) {
  const auto kernel =
      &flash_attention_kernel<Operand, WholeWeights, Width, Selector, Biased, Saturates, Q, K, V, Result>;
  const FlashAttentionTile tile = tile_in_code<Selector>(kernel);
  const AttentionShape& shape = arguments.shape;
  const std::int64_t tiles =
      std::int64_t{ceil_divide(shape.queries, tile.queries)} * shape.heads * shape.batch;
  launch("flash_attention", kernel,
         {{checked_int(tiles, "tiles of queries")},
          tile.threads(),
          static_cast<std::size_t>(flash_attention_bytes<Operand>(tile, Width))},
         stream, arguments);
}

/// The same by warpgroups; returns false where the layout of rows does not suit the TMA.
template <class Operand, bool WholeWeights, int Width, bool Biased, bool Saturates, class Q, class K, class V,
          class Result>
bool launch_warpgroup_attention(const FlashArguments<Q, K, V, Result>& arguments, Stream stream) {
  constexpr WarpgroupAttentionTile tile = warpgroup_attention_tile;
  const AttentionShape& shape = arguments.shape;
  if (!can_be_mapped(arguments.q, shape.heads, shape.batch) ||
      !can_be_mapped(arguments.k, shape.heads_kv, shape.batch) ||
      !can_be_mapped(arguments.v, shape.heads_kv, shape.batch))
    return false;
  if (MemoryCounter::active()) return true;  // the driver makes maps only of existing memory
  const WarpgroupArguments<Result> mapped{map_of<tile.queries()>(arguments.q, shape.heads, shape.batch),
                                          map_of<tile.keys>(arguments.k, shape.heads_kv, shape.batch),
                                          map_of<tile.keys>(arguments.v, shape.heads_kv, shape.batch),
                                          arguments.out,
                                          shape,
                                          arguments.log_sums};
  const std::int64_t tiles =
      std::int64_t{ceil_divide(shape.queries, tile.queries())} * shape.heads * shape.batch;
  launch("warpgroup_attention",
         &warpgroup_attention_kernel<Operand, WholeWeights, Width, Biased, Saturates, Result>,
         {{checked_int(tiles, "tiles of queries")},
          tile.threads(),
          static_cast<std::size_t>(tile.shared_bytes(Width))},
         stream, mapped);
  return true;
}

}  // namespace detail

/// Attention with tiles of f32 scores (host::flash_attention's contract). q, k and v, of the problem's sizes,
/// are rounded to the operand dtype, the weights e^(score - running maximum) too; all sums are f32, and the
/// result is rounded once. Where operands are f32 and q, k and v have 16 bits, tensor cores make the same
/// products of these (`ExactOperand`, sums_in_parts.hpp). Keys and values are padded to one width; heads
/// wider than 256 take the plain kernels, with f32 scores in memory. Kernels are stamped for what `Choice`
/// has, and the problem must be one of it. `architecture` is the device's. Unless it is null, `log_sums` [B,
/// H, Sq] gets the logarithm of the sum of e^score of each row. Throws Error where the launch fails.
template <class Types, class Choice = EveryAttention, class Q, class K, class V>
void flash_attention(const AttentionProblem& problem, DeviceHeadsView<const Q> q, DeviceHeadsView<const K> k,
                     DeviceHeadsView<const V> v, DeviceHeadsView<typename Types::result> out, Stream stream,
                     Architecture architecture, GlobalPointer<f32> log_sums = nullptr) {
  watch::ran_in<Types>();
  using Multiplied = detail::MultipliedHeads<typename Types::operand, Q, K, V>;
  using Operand = typename Multiplied::type;
  constexpr bool whole_weights = Multiplied::whole_weights;
  static_assert(
      std::is_same_v<typename Types::accumulate, f32> && std::is_same_v<typename Types::inside, f32>,
      "flash_attention: its sums and scores are f32.");
  if (out.elements() == 0 && !log_sums) return;
  const detail::FlashArguments<Q, K, V, typename Types::result> arguments{
      detail::heads_in(q),   detail::heads_in(k),       detail::heads_in(v),
      detail::heads_in(out), detail::shape_of(problem), log_sums};
  const auto start = [&]<int width, bool biased>(std::integral_constant<int, width>,
                                                 std::bool_constant<biased>) {
    if constexpr (takes_warpgroups<Operand, Q, K, V>(width))
      if (architecture == Architecture::sm_90 &&
          detail::launch_warpgroup_attention<Operand, whole_weights, width, biased, Types::saturate>(
              arguments, stream))
        return;
    using Selector = FlashAttentionSelector<Operand, whole_weights, width, biased>;
    visit_selectors<Selector>(architecture, [&](auto selector) {
      detail::launch_flash_attention<Operand, whole_weights, width, decltype(selector), biased,
                                     Types::saturate>(arguments, stream);
    });
  };
  constexpr bool leaves_some =
      Choice::has_widths(flash_attention_widths.back(), std::numeric_limits<int>::max());
  // Rows without values have no memory that tiles could be copied from; plain attention's products may be
  // empty.
  const bool done = problem.width > 0 && (problem.width_v > 0 || !leaves_some) &&
                    detail::visit_head_width<flash_attention_widths, Choice>(
                        max_of(arguments.shape.width, arguments.shape.width_v), [&](auto width) {
                          if constexpr (Choice::biased)
                            if (arguments.shape.biased) return start(width, std::true_type{});
                          start(width, std::false_type{});
                        });
  if constexpr (leaves_some)
    if (!done) attention_by_stored_scores<Types>(problem, q, k, v, out, stream, log_sums);
}
/// The same for the architecture of the current device.
template <class Types, class Choice, class Q, class K, class V>
void flash_attention(const AttentionProblem& problem, DeviceHeadsView<const Q> q, DeviceHeadsView<const K> k,
                     DeviceHeadsView<const V> v, DeviceHeadsView<typename Types::result> out, Stream stream) {
  flash_attention<Types, Choice>(problem, q, k, v, out, stream, current_architecture());
}

}  // namespace precast::gpu
