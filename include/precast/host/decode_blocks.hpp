// Values of a block dtype that is known by name at run time, as f32: what a file holds, for those who load
// it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/dtype.hpp>

namespace precast::host {

/// Writes values [first, first + count) of a block as f32. The block's bytes need not be aligned.
using BlockReader = void (*)(const std::byte* block, int first, int count, f32* values);

/// How blocks of the dtype of that name (`BlockFormats`) are read; nullptr where there is none.
inline BlockReader block_reader(std::string_view name) {
  BlockReader reader = nullptr;
  visit_block_format(name, [&]<class Format>(std::type_identity<Format>) {
    reader = [](const std::byte* bytes, int first, int count, f32* values) {
      Format block;
      std::memcpy(&block, bytes, sizeof block);
      dtype_traits<Format>::decode(block, first, count, values);
    };
  });
  return reader;
}

/// Blocks as a file has them, of rows of `columns` values. Where the bytes are no more than the values need,
/// blocks follow each other whatever the rows are; else each row begins with a block.
struct StoredBlocks {
  DtypeInfo dtype;
  BlockReader read = nullptr;  ///< block_reader(dtype.name)
  std::span<const std::byte> bytes;
  std::int64_t columns = 0;
  bool whole_rows = true;  ///< whether each row begins with a block

  /// Values [first, first + values.size()), row after row.
  void decode(std::int64_t first, std::span<f32> values) const {
    const std::int64_t in_block = dtype.values_per_block;
    const std::int64_t row_values = whole_rows ? columns : 0;
    const std::int64_t row_blocks = whole_rows ? ceil_divide(columns, in_block) : 0;
    std::size_t done = 0;
    while (done < values.size()) {
      const std::int64_t row = row_values ? first / row_values : 0;
      const std::int64_t column = first - row * row_values;
      const std::int64_t from = column % in_block;
      std::int64_t some = std::min(in_block - from, static_cast<std::int64_t>(values.size() - done));
      if (row_values) some = std::min(some, row_values - column);
      const std::int64_t block = row * row_blocks + column / in_block;
      read(bytes.data() + block * dtype.bytes_per_block, static_cast<int>(from), static_cast<int>(some),
           values.data() + done);
      first += some;
      done += static_cast<std::size_t>(some);
    }
  }
};

}  // namespace precast::host
