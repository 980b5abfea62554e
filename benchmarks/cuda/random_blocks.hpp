// Weights in blocks of a file. Encoders are the host compiler's: nvcc does not read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace precast::bench {

/// The bytes of so many rows of random values in a block format.
std::vector<std::byte> random_blocks(std::string_view format, std::int64_t rows, std::int64_t columns);

}  // namespace precast::bench
