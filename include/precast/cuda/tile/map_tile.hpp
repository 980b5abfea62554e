// MapTile: how the threads of pointwise kernels share out rows.
#pragma once

#include <bit>
#include <cstdint>

#include <precast/dtype/host_device.hpp>

namespace precast::gpu {

/// Threads of a block, and runs of values that each takes. Two runs of 16 bytes for each of the 1536 to 2048
/// threads of a multiprocessor are the 40 KB in flight that memory needs to be busy, on every architecture.
struct MapTile {
  int threads = 256;
  int runs = 2;
};
inline constexpr MapTile map_tile{};

/// How a grid covers rows: `lanes` threads (a power of two) work beside each other in a row, so that a block
/// takes several short rows or a part of a long one.
struct MapPlan {
  int lanes = 1;
  int lane_bits = 0;  ///< lanes = 2^lane_bits
  std::int64_t blocks_per_row = 1;
  std::int64_t blocks = 0;

  PRECAST_HOST_DEVICE_CONSTEXPR int rows_per_block() const { return map_tile.threads >> lane_bits; }
};

constexpr MapPlan plan_map(std::int64_t rows, std::int64_t columns, int values_of_run) {
  const std::int64_t values = static_cast<std::int64_t>(values_of_run) * map_tile.runs;
  const std::int64_t threads_of_row = ceil_divide(columns, values);
  MapPlan plan;
  plan.lanes = threads_of_row >= map_tile.threads
                   ? map_tile.threads
                   : static_cast<int>(std::bit_ceil(static_cast<std::uint32_t>(threads_of_row)));
  plan.lane_bits = std::countr_zero(static_cast<std::uint32_t>(plan.lanes));
  plan.blocks_per_row = ceil_divide(threads_of_row, plan.lanes);
  plan.blocks = ceil_divide(rows, plan.rows_per_block()) * plan.blocks_per_row;
  return plan;
}

}  // namespace precast::gpu
