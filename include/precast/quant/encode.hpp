// encode: rows of f32 values into blocks, in parallel, by the `reference` encoder, which writes ggml's bytes,
// or by the `search` encoder, whose errors are smaller.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <precast/dtype/dtype.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/error.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/check_importance.hpp>
#include <precast/quant/encode_options.hpp>
#include <precast/quant/finite.hpp>
#include <precast/quant/k_blocks.hpp>
#include <precast/quant/lookup_blocks.hpp>
#include <precast/quant/rounded_blocks.hpp>
#include <precast/quant/search.hpp>
#include <precast/quant/small_float_blocks.hpp>

namespace precast::quant {

namespace detail {

template <class Format>
concept EncodedSideBySide = requires(const f32* values, std::span<Format> blocks) {
  { encode_blocks(values, blocks) } -> std::same_as<void>;
};

}  // namespace detail

/// A block dtype that has an encoder: `encode_block(const f32* values, Format& block)`, declared beside it
/// or here, writes one block from values_per_block finite values; or `encode_blocks(const f32* values,
/// std::span<Format> blocks)` writes several.
template <class Format>
concept Encodable = BlockDtype<Format> &&
    (detail::EncodedSideBySide<Format> || requires(const f32* values, Format& block) {
      { encode_block(values, block) } -> std::same_as<void>;
    });

/// Encodes `values`, a row or whole rows of a matrix, into blocks, on all threads of parallel_for: the same
/// bytes for any number of threads. Subnormal values are encoded as other numbers. Where a scale is so
/// small that its reciprocal overflows, which the reference leaves undefined, integers are clamped to their
/// range; the scale that is stored is 0 then in any case.
///
/// The search encoder begins with the reference's block, and replaces it where it finds one with a smaller
/// sum of squared errors, each times its column's importance (options.importance, as many as a row has
/// values).
///
/// Throws ShapeError unless there are `values_per_block` values for each block, and for an importance whose
/// length is not a row's. Throws InputError for one with the reference encoder or with a value that is no
/// weight, for the search encoder of a format that has none, and, naming the place, for an infinite or NaN
/// value, which no block dtype here holds beside numbers: the blocks are unspecified then.
template <Encodable Format>
void encode(std::span<const f32> values, std::span<Format> blocks, const EncodeOptions& options = {}) {
  constexpr std::size_t in_block = dtype_traits<Format>::values_per_block;
  if (values.size() % in_block != 0 || values.size() / in_block != blocks.size())
    throw ShapeError("encode: " + std::to_string(values.size()) + " values do not fill " +
                     std::to_string(blocks.size()) + " blocks of " + std::string(dtype_traits<Format>::name) +
                     ", of " + std::to_string(in_block) + " values each");
  detail::check_importance(options.importance, values.size(), in_block, options.encoder);
  if (options.encoder == Encoder::search && !Searchable<Format>)
    throw InputError("encode: " + std::string(dtype_traits<Format>::name) +
                     " has no search encoder: choose the reference encoder");
  constexpr std::size_t blocks_at_once = std::max<std::size_t>(1, 8192 / in_block);
  const std::size_t tasks = ceil_divide(blocks.size(), blocks_at_once);
  host::parallel_for(static_cast<std::int64_t>(tasks), [&](std::int64_t task) {
    const std::size_t first = static_cast<std::size_t>(task) * blocks_at_once;
    const std::size_t count = std::min(blocks_at_once, blocks.size() - first);
    const std::span<const f32> here = values.subspan(first * in_block, count * in_block);
    detail::refuse_not_finite(here, first * in_block, dtype_traits<Format>::name);
    if constexpr (detail::EncodedSideBySide<Format>)
      encode_blocks(here.data(), blocks.subspan(first, count));
    else
      for (std::size_t b = 0; b < count; ++b) encode_block(here.data() + b * in_block, blocks[first + b]);
    if constexpr (Searchable<Format>)
      if (options.encoder == Encoder::search)
        improve(here, options.importance, first * in_block, blocks.subspan(first, count));
  });
}

}  // namespace precast::quant
