// encode_rows: a matrix of f32 values as rows of codes under scales.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/error.hpp>
#include <precast/quant/scaled.hpp>

namespace precast::quant {

/// Writes a matrix whose rows have `columns` values as Format: codes under scales as encode_scaled has them,
/// one scale for each row or one for all, as Format says. `rows` has row_head_bytes + columns bytes for each
/// row, an importance a number for each column.
///
/// Throws what encode_scaled throws. The rows are unspecified then.
template <ScaledRowDtype Format>
void encode_rows(std::span<const f32> values, std::size_t columns, std::span<std::byte> rows,
                 const EncodeOptions& options = {}) {
  using Code = scaled_code_of<Format>;
  const std::size_t row_bytes = static_cast<std::size_t>(row_head_bytes) + columns;
  if (columns == 0 || values.size() % columns != 0 || rows.size() != values.size() / columns * row_bytes)
    throw ShapeError("encode_rows: " + std::to_string(values.size()) + " values in rows of " +
                     std::to_string(columns) + " do not take " + std::to_string(rows.size()) + " bytes in " +
                     std::string(dtype_traits<Format>::name) + ", with " + std::to_string(row_bytes) +
                     " for each row");
  const std::size_t count = values.size() / columns;
  if (count == 0) return;
  if (!options.importance.empty() && options.importance.size() != columns)
    throw ShapeError("encode_rows: an importance of " + std::to_string(options.importance.size()) +
                     " columns for rows of " + std::to_string(columns));
  std::vector<Code> codes(values.size());
  std::vector<f32> scales(scale_of<Format> == ScaleOf::tensor ? 1 : count);
  detail::encode_scaled_rows<Code>(values, codes, scales, options, columns);
  host::parallel_for(static_cast<std::int64_t>(count), [&](std::int64_t index) {
    const auto r = static_cast<std::size_t>(index);
    std::byte* const row = rows.data() + r * row_bytes;
    write_row_head(scales[scales.size() == 1 ? 0 : r], static_cast<std::int64_t>(columns), row);
    std::memcpy(row + row_head_bytes, static_cast<const void*>(codes.data() + r * columns), columns);
  });
}

}  // namespace precast::quant
