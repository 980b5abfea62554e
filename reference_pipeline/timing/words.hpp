// Sizes as the tables of benchmarks have them.
#pragma once

#include <cstdint>

namespace precast::timing {

inline double in_mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace precast::timing
