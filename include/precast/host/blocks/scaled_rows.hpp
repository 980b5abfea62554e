// Rows of codes under a scale (dtype/blocks/scaled_rows.hpp) as operands, in vectors: the bits that their
// `decode` gives.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/host/blocks/block_rows.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/simd/byte_lanes.hpp>

namespace precast::host {

namespace detail {

/// Sixteen codes as numbers; false where one is infinite or NaN, which the caller decodes by itself.
template <ScaledCode Code>
[[gnu::always_inline]] inline bool numbers_of(Bytes16 codes, Floats16& values) {
  if constexpr (std::same_as<Code, std::int8_t>) {
    to_floats(reinterpret_cast<SignedBytes16>(codes), values);
    return true;
  } else {
    return small_numbers_of<Code>(codes, values);
  }
}

/// Columns [first, first + columns) of a row value by value.
template <ScaledRowDtype Format, ScalarDtype T>
void decode_scaled_values(const Format& row, std::int64_t first, std::int64_t columns, T* to) {
  store_decoded(std::span<T>(to, static_cast<std::size_t>(columns)),
                [&](std::int64_t k, std::span<f32> values) {
                  dtype_traits<Format>::decode(row, static_cast<int>(first + k),
                                               static_cast<int>(values.size()), values.data());
                });
}

/// Columns [first, first + 16 count) of one row, sixteen at a time.
template <ScaledRowDtype Format, class To>
[[gnu::always_inline]] inline void decode_scaled_sixteenths(const Format& row, std::int64_t first,
                                                            std::int64_t count, const To& sink) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&row);
  const f32 scale = precast::detail::scale_of_row(bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    Floats16 values;
    if (numbers_of<scaled_code_of<Format>>(sixteen_bytes(bytes + row_head_bytes + first + 16 * i), values))
        [[likely]] {
      values = values * scale;
    } else {
      f32 some[16];
      dtype_traits<Format>::decode(row, static_cast<int>(first + 16 * i), 16, some);
      values = loaded_floats(some);
    }
    sink.behind(16 * i).put(0, values);
  }
}

/// Columns [first, first + columns) of one row, no further than its end.
template <ScaledRowDtype Format, ScalarDtype T>
void decode_scaled_row(const Format& row, std::int64_t first, std::int64_t columns, T* to) {
  std::int64_t k = 0;
  if constexpr (std::is_same_v<T, f32> || std::is_same_v<T, bf16>) {
    decode_scaled_sixteenths(row, first, columns / 16, Sink<T>{to});
    k = columns / 16 * 16;
  }
  if (k < columns) decode_scaled_values(row, first + k, columns - k, to + k);
}

}  // namespace detail

/// DecodeRows of rows under scales. Columns beyond the end of a row continue in the next rows.
template <ScaledRowDtype Format, ScalarDtype T>
void decode_scaled_rows(const BlockRows& rows, std::int64_t count, std::int64_t first, std::int64_t columns,
                        T* to, std::int64_t stride) {
  for (std::int64_t r = 0; r < count; ++r) {
    const auto* row = reinterpret_cast<const std::uint8_t*>(rows.from_row(r).first);
    T* out = to + r * stride;
    for (std::int64_t from = first, left = columns; left > 0;) {
      const std::int64_t in_row = precast::detail::columns_of_row(row), some = std::min(left, in_row - from);
      if (some > 0) {
        detail::decode_scaled_row(*reinterpret_cast<const Format*>(row), from, some, out);
        out += some, left -= some, from += some;
      }
      from -= in_row;
      row += row_head_bytes + in_row;
    }
  }
}

}  // namespace precast::host
