// SwizzledScales: the order of block scales for tensor cores, in whole tiles of 128 rows by 4 blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::weights {

/// The scales of a matrix, a byte for each block along its rows (cuBLAS' 128x4 layout of block scaling
/// factors; ComfyUI stores them so).
class SwizzledScales {
 public:
  SwizzledScales(std::int64_t rows, std::int64_t blocks)
      : padded_rows_(rounded_up(rows, 128)), tiles_in_row_(rounded_up(blocks, 4) / 4) {}

  /// [rows, blocks], padding included.
  Shape shape() const { return {padded_rows_, 4 * tiles_in_row_}; }
  /// The byte offset of that block's scale.
  std::size_t place(std::int64_t row, std::int64_t block) const {
    return static_cast<std::size_t>((row / 128 * tiles_in_row_ + block / 4) * 512 + row % 32 * 16 +
                                    row % 128 / 32 * 4 + block % 4);
  }

 private:
  std::int64_t padded_rows_, tiles_in_row_;
};

}  // namespace precast::weights
