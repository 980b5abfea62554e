// Block formats known only at run time: encode and decode by a format's name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/error.hpp>
#include <precast/host/blocks/decode_blocks.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/encode.hpp>

namespace precast::quant {

namespace detail {

/// The facts of the block format of that name. Throws InputError for an unknown name, and ShapeError unless
/// `values` values take `bytes` bytes.
inline DtypeInfo named_blocks(std::string_view format, std::size_t values, std::size_t bytes) {
  const auto found =
      std::ranges::find(block_formats, format, [](const BlockFormat& f) { return f.info.name; });
  if (found == block_formats.end()) throw InputError("no block format is called " + std::string(format));
  const auto in_block = static_cast<std::size_t>(found->info.values_per_block),
             block_bytes = static_cast<std::size_t>(found->info.bytes_per_block);
  if (values % in_block != 0 || values / in_block * block_bytes != bytes)
    throw ShapeError(std::string(format) + ": " + std::to_string(values) + " values in blocks of " +
                     std::to_string(in_block) + " do not take " + std::to_string(bytes) + " bytes, with " +
                     std::to_string(block_bytes) + " for each block");
  return found->info;
}

}  // namespace detail

/// encode<Format>() (quant/encode.hpp) with the block format of that name ("q4_k"): `values`, a row or whole
/// rows, into `bytes`, which hold the blocks as a file does, at any address.
///
/// Throws InputError for a name that is no block format's, ShapeError where `bytes` are not those of the
/// blocks, and what encode<Format>() throws.
inline void encode(std::string_view format, std::span<const f32> values, std::span<std::byte> bytes,
                   const EncodeOptions& options = {}) {
  detail::named_blocks(format, values.size(), bytes.size());
  visit_block_format(format, [&]<class Format>(std::type_identity<Format>) {
    const std::size_t count = bytes.size() / sizeof(Format);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Format) == 0)
      return encode<Format>(values, std::span(reinterpret_cast<Format*>(bytes.data()), count), options);
    // Files may put blocks at odd addresses.
    std::vector<Format> aligned(count);
    encode<Format>(values, std::span(aligned), options);
    std::memcpy(bytes.data(), static_cast<const void*>(aligned.data()), bytes.size());
  });
}

/// The values of the blocks in `bytes`, at any address, of the block format of that name, on all threads of
/// parallel_for. Throws InputError and ShapeError as encode() does, and PathNotCompiled where PRECAST_QUANT
/// leaves the format out.
inline void decode(std::string_view format, std::span<const std::byte> bytes, std::span<f32> values) {
  const DtypeInfo dtype = detail::named_blocks(format, values.size(), bytes.size());
  const host::StoredBlocks blocks{dtype, host::rows_decoder<f32>(format), bytes, std::ssize(values), false};
  constexpr std::size_t at_once = 8192;  // a multiple of every format's block
  host::parallel_for(static_cast<std::int64_t>(ceil_divide(values.size(), at_once)), [&](std::int64_t task) {
    const std::size_t first = static_cast<std::size_t>(task) * at_once;
    blocks.decode(static_cast<std::int64_t>(first),
                  values.subspan(first, std::min(at_once, values.size() - first)));
  });
}

}  // namespace precast::quant
