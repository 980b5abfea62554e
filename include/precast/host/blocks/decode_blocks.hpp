// Decodes values of a block dtype that is known by name at run time to f32,
// for loading files.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/memory/memory.hpp>

namespace precast::host {

namespace detail {

/// An alignment that suffices for the blocks of every format.
template <class... Entries>
constexpr std::size_t alignment_of(BlockFormatList<Entries...>) {
  return std::max({alignof(typename Entries::format)...});
}

}  // namespace detail

/// Blocks as a file has them, at any address, of rows of `columns` values. Where the bytes are no more than
/// the values need, blocks follow each other whatever the rows are; else each row begins with a block.
struct StoredBlocks {
  DtypeInfo dtype;
  DecodeRows<f32> to_f32 = nullptr;  ///< rows_decoder<f32>(dtype.name)
  std::span<const std::byte> bytes;
  std::int64_t columns = 0;
  bool whole_rows = true;  ///< whether each row begins with a block

  /// Values [first, first + values.size()), row after row.
  void decode(std::int64_t first, std::span<f32> values) const {
    const std::int64_t row_values = whole_rows ? columns : 0;
    const std::int64_t row_bytes =
        whole_rows ? ceil_divide(columns, dtype.values_per_block) * dtype.bytes_per_block : 0;
    const std::int64_t end = first + std::ssize(values);
    for (f32* to = values.data(); first < end;) {
      const std::int64_t row = row_values ? first / row_values : 0, column = first - row * row_values,
                         some = std::min(end - first, row_values ? row_values - column : end - first);
      decode_run(bytes.data() + row * row_bytes, column, some, to);
      first += some;
      to += some;
    }
  }

 private:
  /// Values [first, first + count) of the blocks from `blocks` on.
  void decode_run(const std::byte* blocks, std::int64_t first, std::int64_t count, f32* to) const {
    blocks += first / dtype.values_per_block * dtype.bytes_per_block;
    first %= dtype.values_per_block;
    constexpr std::size_t alignment = detail::alignment_of(BlockFormats{});
    if (reinterpret_cast<std::uintptr_t>(blocks) % alignment == 0)
      return to_f32({blocks, 0}, 1, first, count, to, 0);
    constexpr std::int64_t room = 8192;
    alignas(alignment) std::array<std::byte, static_cast<std::size_t>(room)> few;
    // A block may be a whole row under its scale.
    const bool fits = dtype.bytes_per_block <= room;
    const Buffer one(fits ? 0 : static_cast<std::size_t>(dtype.bytes_per_block));
    std::byte* const aligned = fits ? few.data() : one.data();
    const std::int64_t at_once = fits ? room / dtype.bytes_per_block : 1;
    while (count > 0) {
      const std::int64_t some = std::min(count, at_once * dtype.values_per_block - first);
      std::memcpy(aligned, blocks,
                  static_cast<std::size_t>(ceil_divide(first + some, dtype.values_per_block) *
                                           dtype.bytes_per_block));
      to_f32({aligned, 0}, 1, first, some, to, 0);
      blocks += at_once * dtype.bytes_per_block;
      first = 0;
      count -= some;
      to += some;
    }
  }
};

}  // namespace precast::host
