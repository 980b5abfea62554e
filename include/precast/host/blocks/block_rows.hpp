// BlockRows: where the rows of a matrix in blocks are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace precast::host {

/// Rows of a matrix in blocks: the bytes of the first, and the stride between rows in bytes.
struct BlockRows {
  const std::byte* first = nullptr;
  std::int64_t bytes_per_row = 0;

  BlockRows from_row(std::int64_t row) const { return {first + row * bytes_per_row, bytes_per_row}; }
};

}  // namespace precast::host
