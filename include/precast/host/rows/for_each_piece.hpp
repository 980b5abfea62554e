// for_each_piece: values of any dtype as f32, in pieces that fit the L1 cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/host/rows/convert.hpp>

namespace precast::host::detail {

/// Calls `body(piece)` with values as f32, piece by piece.
template <ScalarDtype T, class Body>
void for_each_piece(std::span<const T> values, Body&& body) {
  std::array<f32, static_cast<std::size_t>(values_per_chunk)> scratch;
  for (std::size_t i = 0; i < values.size(); i += scratch.size())
    body(row_in_f32(values.subspan(i, std::min(scratch.size(), values.size() - i)), scratch.data()));
}

}  // namespace precast::host::detail
