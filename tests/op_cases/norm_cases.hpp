// The cases of norms and softmax.
#pragma once

#include <cstdint>

namespace precast::testing {

/// What multiplications cost beside a value's way through a norm, in the emulator.
inline constexpr std::int64_t multiplications_a_value = 4;

/// [batch, tokens, columns] of normally distributed values.
struct RowsCase {
  std::int64_t batch, tokens, columns;
  double deviation = 1, mean = 0;

  constexpr std::int64_t multiplications() const {
    return batch * tokens * columns * multiplications_a_value;
  }
};

/// Rows from one value on: around runs of 4 and 8 values, warps, and the rows that each of the device's tiles
/// holds, and one that none holds; deviations far below and means far above 1; none.
inline constexpr RowsCase rows_cases[] = {
    {0, 3, 6},
    {2, 0, 6},
    {2, 3, 0},
    {1, 1, 1},
    {2, 3, 1, 1, 1000},
    {2, 3, 2},
    {2, 3, 3},
    {2, 3, 4, 1e-3},
    {2, 3, 5},
    {2, 3, 7, 30, -500},
    {2, 3, 8},
    {2, 3, 9},
    {2, 3, 31, 1, 1000},
    {2, 3, 32, 1e-3},
    {2, 3, 33, 30, -500},
    {2, 3, 63},
    {2, 3, 64, 1, 1000},
    {2, 3, 65},
    {3, 5, 77, 2, 0.5},
    {2, 2, 127},
    {2, 2, 128},
    {2, 2, 129, 1, 1000},
    {1, 40, 256, 1e-3},
    {2, 1, 511},
    {2, 1, 512, 1, 1000},
    {2, 1, 513},
    {2, 1, 768, 30, -500},
    {2, 1, 1001, 1, 1000},
    {2, 1, 1023},
    {2, 1, 1025, 1e-3},
    {1, 2, 2047},
    {1, 2, 2049},
    {1, 2, 3072, 1, 1000},
    {1, 2, 4095},
    {1, 2, 4097},
    {1, 2, 5001, 30, -500},
    {1, 2, 8193},
    {1, 2, 9000},
    {1, 2, 16384},
    {1, 2, 16392, 1, 1000},
    {2, 130, 3072},
};

/// [batch, height, width, channels] in groups of channels.
struct GroupNormCase {
  std::int64_t batch, height, width, channels, groups;
  double deviation = 1, mean = 0;

  constexpr std::int64_t multiplications() const {
    return batch * height * width * channels * multiplications_a_value;
  }
};

/// Groups that fill whole runs and that do not, ten channels to each as in UNets among them; 163,840 values
/// to a group, which f16's sums cannot hold, of a mean of 3 and of 1000; none.
inline constexpr GroupNormCase group_norm_cases[] = {
    {0, 2, 2, 6, 3},
    {1, 0, 2, 6, 3},
    {1, 1, 1, 4, 2, 2, 1},
    {1, 1, 1, 1, 1},
    {2, 3, 5, 6, 3},
    {2, 9, 7, 33, 1, 0.01, -4},
    {1, 130, 1, 1, 1, 5},
    {3, 17, 3, 48, 3, 1, 2},
    {1, 7, 9, 63, 9},
    {1, 7, 9, 64, 8},
    {2, 5, 7, 320, 32, 1, 3},
    {1, 40, 8, 128, 32, 1, 1000},
    {1, 256, 320, 4, 2, 1, 3},
    {1, 64, 160, 32, 2, 1, 0.1},
    {1, 64, 80, 64, 2, 1, 1000},
    {1, 160, 256, 32, 4, 1, 1000},
};

}  // namespace precast::testing
