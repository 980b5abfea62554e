// The benchmark of attention alone: its cases and its table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <timing/suite.hpp>
#include <timing/timed_device.hpp>

namespace precast::timing {

/// Each width of a head at each context, plain and flash, under each policy after each warm-up.
struct AttentionGrid {
  std::vector<std::int64_t> head_widths{16, 32, 64, 128};
  std::vector<std::int64_t> contexts{256, 1024, 4096, 8192, 16384};
  std::vector<std::string> kinds{"plain", "flash"};
  std::vector<std::string> policies{"f32", "bf16"};
  std::vector<std::int64_t> warmups{1};
  std::int64_t steps = 10, batch = 8;

  /// All of that in words.
  std::string settings() const;
};

/// Its cases and its table: forward, backward, and what is in memory between the two. Throws InputError for
/// a policy that attention is not measured under on this device in this build.
Suite attention_suite(const AttentionGrid& grid, const TimedDevice& device);

}  // namespace precast::timing
