// The tiles of flash attention on warpgroups, and where it runs.
#pragma once

#include <type_traits>

#include <precast/cuda/device/warpgroup.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// The work of a block: 64 rows of queries for each of its consumer warpgroups. One more is the producer.
struct WarpgroupAttentionTile {
  int warpgroups;
  int keys;                ///< keys, or values, of one tile in shared memory
  int stages;              ///< such tiles in shared memory or in flight
  int producer_registers;  ///< of each thread of the producer
  int consumer_registers;  ///< of each thread of the consumers

  PRECAST_HOST_DEVICE_CONSTEXPR int queries() const { return 64 * warpgroups; }
  PRECAST_HOST_DEVICE_CONSTEXPR int consumer_warps() const { return 4 * warpgroups; }
  PRECAST_HOST_DEVICE_CONSTEXPR int threads() const { return 128 * (warpgroups + 1); }
  /// Including the padding that aligns the tiles to 1024 bytes.
  PRECAST_HOST_DEVICE_CONSTEXPR int shared_bytes(int width) const {
    return 1024 + (queries() + stages * keys) * width * 2;
  }
};

/// Two warpgroups, so that one multiplies while the other is at its softmax; two pairs of tiles, of which one
/// arrives while the other is in use. The 168 registers that 384 threads have at the start are too few for
/// consumers, and more than a producer needs.
inline constexpr WarpgroupAttentionTile warpgroup_attention_tile{
    .warpgroups = 2, .keys = 128, .stages = 4, .producer_registers = 24, .consumer_registers = 240};
static_assert(warpgroup_attention_tile.producer_registers +
                      warpgroup_attention_tile.warpgroups * warpgroup_attention_tile.consumer_registers <=
                  168 * (warpgroup_attention_tile.warpgroups + 1),
              "WarpgroupAttentionTile: no more registers than there are.");

/// Whether flash attention uses warpgroups on sm_90: for operands that are stored as they are multiplied,
/// in bf16 or f16, and heads that fill rows of 128 bytes.
template <class Operand, class Q, class K, class V>
constexpr bool takes_warpgroups(int width) {
  constexpr bool has_16_bits = std::is_same_v<Operand, bf16> || std::is_same_v<Operand, f16>;
  constexpr bool needs_no_conversion =
      std::is_same_v<Q, Operand> && std::is_same_v<K, Operand> && std::is_same_v<V, Operand>;
  return has_sm_90a_kernels && (width == 64 || width == 128) && has_16_bits && needs_no_conversion;
}

}  // namespace precast::gpu
