// without_padding: removes the padding of a matrix that was stored with more rows or columns than it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <precast/backend.hpp>
#include <precast/host/blocks/decode_blocks.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::nn {

/// Whether a parameter is a matrix of that shape whose sizes were rounded up as `padded_to` says.
inline bool is_padded(const Parameter& parameter, const Shape& shape) {
  const Shape& stored = parameter.shape;
  if (stored.rank() != 2 || shape.rank() != 2 || stored == shape) return false;
  for (std::size_t i = 0; i < 2; ++i)
    if (stored[i] != shape[i] && stored[i] != rounded_up(shape[i], parameter.padded_to)) return false;
  return true;
}

inline namespace PRECAST_BACKEND {

/// The first rows and columns of a padded matrix. Rows are a subrange of its bytes; columns are copied, and
/// decoded to f32 where they are in blocks.
inline Parameter without_padding(Parameter whole, const Shape& shape) {
  const std::int64_t rows = shape[0], columns = shape[1], stored = whole.shape[1];
  const std::int64_t row_bytes = stored / whole.dtype.values_per_block * whole.dtype.bytes_per_block;
  whole.bytes = whole.bytes.first(static_cast<std::size_t>(rows * row_bytes));
  whole.shape = shape;
  if (columns == stored) return whole;
  const bool in_blocks = whole.dtype.values_per_block != 1;
  const host::StoredBlocks blocks{whole.dtype, host::rows_decoder<f32>(whole.dtype.name), whole.bytes,
                                  stored};
  if (in_blocks) whole.dtype = dtype_info<f32>;
  const std::int64_t kept = columns * whole.dtype.bytes_per_block;
  if (DryRun::active()) {  // where nobody reads values
    whole.owner = std::make_shared<DryHold>(rows * kept);
    whole.bytes = {whole.bytes.data(), static_cast<std::size_t>(rows * kept)};
    return whole;
  }
  const auto copy = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(rows * kept));
  std::vector<f32> decoded(static_cast<std::size_t>(in_blocks ? columns : 0));
  for (std::int64_t row = 0; row < rows; ++row) {
    const void* from = whole.bytes.data() + row * row_bytes;
    if (in_blocks) {
      blocks.decode(row * stored, decoded);
      from = decoded.data();
    }
    std::memcpy(copy->data() + row * kept, from, static_cast<std::size_t>(kept));
  }
  whole.bytes = *copy;
  whole.owner = copy;
  return whole;
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
