// The tiles of attention's gradients, and of the rests of the logarithms of sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/side.hpp>

namespace precast::gpu::detail {

/// The tile of a block, on every architecture: its own rows, 16 for each warp, and the rows that pass, in
/// two buffers.
struct GradientTile {
  int rows = 64, others = 32, stages = 2, warps = 4;

  PRECAST_HOST_DEVICE_CONSTEXPR int threads() const { return warps * 32; }
  PRECAST_HOST_DEVICE_CONSTEXPR int rows_of_warp() const { return rows / warps; }
  /// Bytes for the own and passing rows of `matrices` matrices, which are keys and values, or queries and
  /// gradients of results.
  PRECAST_HOST_DEVICE_CONSTEXPR std::size_t shared_bytes(int width, int value_bytes, int matrices) const {
    return static_cast<std::size_t>(matrices * (rows + stages * others) * width * value_bytes);
  }
};

/// 96 KB of shared memory at most, which every architecture has.
PRECAST_HOST_DEVICE_CONSTEXPR GradientTile select_gradient_tile(int width, int value_bytes) {
  GradientTile tile;
  if (width * value_bytes > 384) tile.others = 16;
  return tile;
}

/// The widths that kernels are made for; wider heads leave no registers for their sums.
inline constexpr std::array<int, 4> tiled_gradient_widths{32, 64, 96, 128};

/// Whether a choice has attentions that are wider, or that tiles do not take because of their bias.
template <class Choice>
inline constexpr bool leaves_some_to_rows = Choice::biased ||
                                            Choice::has_widths(tiled_gradient_widths.back(),
                                                               std::numeric_limits<int>::max());

/// Whether the tiled kernels take a row of the op table: operands of 16 bits, which tensor cores multiply,
/// that hold the forward op's, or f32 in both; and sums in f32.
template <class Types, class ForwardOperand>
inline constexpr bool has_tiled_gradient = [] {
  using Operand = typename Types::operand;
  const bool in_16_bits = sizeof(HeldDtype<Operand>) == 2 &&
                          std::is_same_v<Operand, MultipliedDtype<Operand>> &&
                          widens_exactly<Operand, ForwardOperand>;
  const bool in_f32 = std::is_same_v<Operand, f32> && std::is_same_v<ForwardOperand, f32>;
  return (in_16_bits || in_f32) && std::is_same_v<typename Types::accumulate, f32>;
}();

}  // namespace precast::gpu::detail
