// The cases of ops of single values.
#pragma once

#include <cstdint>

#include <precast/tensor/shape.hpp>

namespace precast::testing {

struct PointwiseCase {
  std::int64_t rows, columns;

  /// What as many values cost in the emulator, function by function.
  constexpr std::int64_t multiplications() const { return rows * columns * 24; }
  Shape shape() const { return {rows, columns}; }
};

/// Sizes below, at and above what a run, a row of lanes, a block of the device and a piece of the host's loop
/// hold, and none.
inline constexpr PointwiseCase pointwise_cases[] = {
    {0, 7},    {7, 0},    {1, 1},    {3, 7},    {5, 8},    {3, 9},   {2, 255},  {2, 256},   {2, 257},
    {1, 2047}, {2, 2048}, {5, 2049}, {2, 4096}, {1, 9000}, {900, 3}, {9000, 3}, {1, 16384}, {1, 70000}};

/// Gates and rows that are added to several: [batch, tokens, columns].
struct BroadcastCase {
  std::int64_t batch, tokens, columns;

  constexpr std::int64_t multiplications() const { return batch * tokens * columns * 24; }
};

inline constexpr BroadcastCase broadcast_cases[] = {{0, 4, 3},    {3, 0, 3},  {1, 1, 1},   {3, 4, 3},
                                                    {2, 3, 8},    {3, 4, 24}, {3, 4, 255}, {2, 3, 2100},
                                                    {3, 4, 2500}, {2, 700, 3}};

}  // namespace precast::testing
