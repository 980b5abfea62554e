// Block formats that are known at run time alone: encode and decode by a format's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/decode_run.hpp>
#include <precast/error.hpp>
#include <precast/host/parallel.hpp>
#include <precast/quant/encode.hpp>

namespace precast::quant {

namespace detail {

/// Calls with_blocks(std::type_identity<Format>{}, blocks) for `bytes` seen as blocks of the format of that
/// name; `Byte` is std::byte or const std::byte.
template <class Byte, class WithBlocks>
void with_named_blocks(std::string_view format, std::span<Byte> bytes, std::size_t values,
                       WithBlocks&& with_blocks) {
  const bool known = visit_block_format(format, [&]<class Format>(std::type_identity<Format> type) {
    constexpr std::size_t in_block = dtype_traits<Format>::values_per_block;
    if (values % in_block != 0 || values / in_block * sizeof(Format) != bytes.size())
      throw ShapeError(std::string(format) + ": " + std::to_string(values) + " values in blocks of " +
                       std::to_string(in_block) + " do not take " + std::to_string(bytes.size()) +
                       " bytes, with " + std::to_string(sizeof(Format)) + " for each block");
    using Block = std::conditional_t<std::is_const_v<Byte>, const Format, Format>;
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Format) == 0) {
      with_blocks(type, std::span<Block>(reinterpret_cast<Block*>(bytes.data()), values / in_block));
      return;
    }
    // Files may put blocks at odd addresses.
    std::vector<Format> aligned(values / in_block);
    std::memcpy(static_cast<void*>(aligned.data()), bytes.data(), bytes.size());
    with_blocks(type, std::span<Block>(aligned));
    if constexpr (!std::is_const_v<Byte>) std::memcpy(bytes.data(), aligned.data(), bytes.size());
  });
  if (!known) throw InputError("no block format is called " + std::string(format));
}

}  // namespace detail

/// encode<Format>() (quant/encode.hpp) with the block format of that name ("q4_k"): `values`, a row or whole
/// rows, into `bytes`, which hold the blocks as a file does, at any address.
///
/// Throws InputError for a name that is no block format's, ShapeError where `bytes` are not those of the
/// blocks, and what encode<Format>() throws.
inline void encode(std::string_view format, std::span<const f32> values, std::span<std::byte> bytes,
                   const EncodeOptions& options = {}) {
  detail::with_named_blocks(format, bytes, values.size(),
                            [&]<class Format>(std::type_identity<Format>, std::span<Format> blocks) {
                              encode<Format>(values, blocks, options);
                            });
}

/// The values of the blocks in `bytes`, of the block format of that name, on all threads of parallel_for.
/// Throws as encode() does.
inline void decode(std::string_view format, std::span<const std::byte> bytes, std::span<f32> values) {
  detail::with_named_blocks(format, bytes, values.size(),
                            [&]<class Format>(std::type_identity<Format>, std::span<const Format> blocks) {
                              constexpr std::int64_t at_once = 8192;  // a multiple of every format's block
                              const auto count = static_cast<std::int64_t>(values.size());
                              host::parallel_for(ceil_divide(count, at_once), [&](std::int64_t task) {
                                const std::int64_t first = task * at_once;
                                decode_run<Format>(blocks.data(), first, min_of(at_once, count - first),
                                                   values.data() + first);
                              });
                            });
}

}  // namespace precast::quant
