// The definitions behind BlockDecoder: rows of each block format as operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/decode_run.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/host/blocks/decode_steps.hpp>
#include <precast/host/blocks/scaled_rows.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/policy/quant_formats.hpp>

namespace precast::host {

namespace detail {

/// Columns [first, first + columns) of a row value by value: for formats without steps, and for partial
/// steps at the ends of a run.
template <BlockDtype Format, ScalarDtype T>
void decode_row_by_values(const Format* row, std::int64_t first, std::int64_t columns, T* to) {
  store_decoded(std::span<T>(to, static_cast<std::size_t>(columns)),
                [&](std::int64_t k, std::span<f32> values) {
                  decode_run<Format>(row, first + k, std::ssize(values), values.data());
                });
}

}  // namespace detail

/// DecodeRows of the block dtype Format.
template <BlockDtype Format, ScalarDtype T>
void decode_rows(const BlockRows& rows, std::int64_t count, std::int64_t first, std::int64_t columns, T* to,
                 std::int64_t stride) {
  constexpr std::int64_t in_block = dtype_traits<Format>::values_per_block;
  for (std::int64_t r = 0; r < count; ++r) {
    const auto* const row = reinterpret_cast<const Format*>(rows.from_row(r).first);
    T* const out = to + r * stride;
    std::int64_t k = 0;
    if constexpr (detail::DecodedInSteps<Format> && (std::is_same_v<T, f32> || std::is_same_v<T, bf16>)) {
      constexpr std::int64_t step = detail::values_in_step<Format>;
      if (const std::int64_t before = std::min(columns, (step - first % step) % step); before > 0) {
        detail::decode_row_by_values(row, first, before, out);
        k = before;
      }
      const auto decode_steps_until = [&](std::int64_t end) {
        for (; end - k >= step; k += step)
          detail::decode_known_step(row[(first + k) / in_block],
                                    static_cast<int>((first + k) % in_block / step),
                                    detail::Sink<T>{out + k});
      };
      if constexpr (in_block > step)
        decode_steps_until(std::min(columns, k + (in_block - (first + k) % in_block) % in_block));
      for (; columns - k >= in_block; k += in_block)
        detail::decode_whole_block(row[(first + k) / in_block], detail::Sink<T>{out + k});
      if constexpr (in_block > step) decode_steps_until(columns);
    }
    if (k < columns) detail::decode_row_by_values(row, first + k, columns - k, out + k);
    // Prefetches the next part of this row, which is read after as much of the other rows: these are more
    // streams than a CPU prefetches.
    if (count > 1) {
      const auto* const end = reinterpret_cast<const char*>(row + (first + columns) / in_block);
      for (std::int64_t byte = 0; byte < columns * std::int64_t{sizeof(Format)} / in_block + 64; byte += 64)
        __builtin_prefetch(end + byte);
    }
  }
}

template <ScalarDtype T>
DecodeRows<T> rows_decoder(std::string_view format) {
  DecodeRows<T> found = nullptr;
  visit_block_format(format, [&]<class Format>(std::type_identity<Format>) {
    if constexpr (block_format_compiled(dtype_traits<Format>::name))
      found = &decode_rows<Format, T>;
    else
      require_block_format(format);
  });
  visit_scaled_row_dtype(format, [&]<class Format>(std::type_identity<Format>) {
    if constexpr (block_format_compiled(dtype_traits<Format>::name))
      found = &decode_scaled_rows<Format, T>;
    else
      require_block_format(format);
  });
  return found;
}

}  // namespace precast::host
