// The tiles of flash attention, by architecture, operand dtype and width of a head.
#pragma once

#include <array>

#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/tile/architecture.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// The tile that a block of flash attention works on.
struct FlashAttentionTile {
  int queries;  ///< rows of a block
  int keys;     ///< keys, or values, of one tile in shared memory
  int stages;   ///< such tiles in shared memory or in flight: 2 or more
  int warps;    ///< each has queries / warps rows: 16, or on tensor cores 16 or 32

  PRECAST_HOST_DEVICE_CONSTEXPR int threads() const { return 32 * warps; }
  friend constexpr bool operator==(const FlashAttentionTile&, const FlashAttentionTile&) = default;
};

/// The widths that kernels are made for. A head of another width is padded to the next; one that is wider
/// than all is too wide for its sums to stay in registers.
inline constexpr std::array<int, 6> flash_attention_widths{32, 64, 96, 128, 160, 256};

/// The shared memory that a tile takes.
template <class Operand>
PRECAST_HOST_DEVICE_CONSTEXPR int flash_attention_bytes(const FlashAttentionTile& tile, int width) {
  return (tile.queries + tile.stages * tile.keys) * width * static_cast<int>(sizeof(HeldDtype<Operand>));
}

/// Chooses a tile, which fits wherever the architecture's code runs. Two blocks share a multiprocessor where
/// their tiles fit; what is left over goes to stages. `whole_weights`: weights are multiplied in parts.
template <class Operand>
PRECAST_HOST_DEVICE_CONSTEXPR FlashAttentionTile select_flash_attention(Architecture architecture,
                                                                        bool whole_weights, int width,
                                                                        bool biased) {
  constexpr int system_bytes = 1024, most_stages = 4;
  const int most = shared_where_code_runs(architecture);
  // A warp uses each key that it loads for all of its rows: 32 rows are better where registers have room
  // for their results, and for the biases in flight.
  const bool many_rows = sizeof(HeldDtype<Operand>) == 2 && width <= 128 && !biased;
  // With 256 sums per row, registers have no room for 32 scores with weights in parts, or with biases.
  const bool few_keys = sizeof(HeldDtype<Operand>) == 2 && width > 160 && (biased || whole_weights);
  FlashAttentionTile tile{.queries = many_rows ? 128 : 64,
                          .keys = many_rows && width <= 64 ? 64
                                  : few_keys               ? 16
                                                           : 32,
                          .stages = 2,
                          .warps = 4};
  const int half = min_of(limits_of(architecture).shared_per_multiprocessor / 2 - system_bytes, most);
  while (flash_attention_bytes<Operand>(tile, width) > most) tile.keys /= 2;
  // Kernels with few keys and biases take a multiprocessor to themselves, for three or four stages: with
  // the two stages that half of it has room for, weights in parts spill.
  const bool shares = flash_attention_bytes<Operand>(tile, width) <= half && !(few_keys && biased);
  const int budget = shares ? half : most;
  for (FlashAttentionTile more = tile; more.stages <= most_stages; ++more.stages)
    if (flash_attention_bytes<Operand>(more, width) <= budget) tile.stages = more.stages;
  return tile;
}

/// select_flash_attention as a selector (selector.hpp).
template <class Operand, bool WholeWeights, int Width, bool Biased>
struct FlashAttentionSelector {
  static PRECAST_HOST_DEVICE_CONSTEXPR FlashAttentionTile tile(Architecture architecture) {
    return select_flash_attention<Operand>(architecture, WholeWeights, Width, Biased);
  }
};

}  // namespace precast::gpu
