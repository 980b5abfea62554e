// Conversion of whole rows between scalar dtypes: bit for bit what convert<> does, in loops that vectorise.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/parallel.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::host {

/// Converts each value to To: the same bits as `convert<To>(value)` for every value, subnormals, infinities
/// and NaN among them. With `Saturates`, values above the range of To, infinities too, become its largest
/// number instead. The spans have equal lengths and do not overlap, unless they are the same memory and
/// dtype.
template <ScalarDtype To, bool Saturates = false, ScalarDtype From>
void convert_row(std::span<const From> from, std::span<To> to) {
  const From* in = from.data();
  To* out = to.data();
  const std::size_t count = from.size();
  if constexpr (std::same_as<To, From> && !Saturates) {
    if (count && in != out) std::memmove(out, in, count * sizeof(To));
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = convert_value<To, Saturates>(in[i]);
  }
}

/// Rounds f32 values to T and back: what remains of them after a store in T.
template <ScalarDtype T, bool Saturates = false>
void round_row(std::span<f32> values) {
  if constexpr (!std::same_as<T, f32> || Saturates)
    for (f32& value : values) value = convert_value<f32, false>(convert_value<T, Saturates>(value));
}

/// A row as f32: the row itself where it is f32 already, else exactly widened into `scratch`.
template <ScalarDtype From>
std::span<const f32> row_in_f32(std::span<const From> row, f32* scratch) {
  if constexpr (std::same_as<From, f32>) {
    return row;
  } else {
    convert_row<f32>(row, std::span<f32>(scratch, row.size()));
    return {scratch, row.size()};
  }
}

/// Where f32 results of a row are computed before they are stored as T: the row itself where it can hold
/// them.
template <ScalarDtype T>
std::span<f32> row_to_compute(std::span<T> row, f32* scratch) {
  if constexpr (std::same_as<T, f32>)
    return row;
  else
    return {scratch, row.size()};
}

/// Stores what was computed in `row_to_compute`: the one rounding of a result.
template <bool Saturates, ScalarDtype T>
void store_row(std::span<const f32> computed, std::span<T> row) {
  convert_row<T, Saturates>(computed, row);
}

/// Values that one task of a pointwise loop takes: as f32 they fit the nearest cache.
inline constexpr std::int64_t values_per_chunk = 2048;

}  // namespace precast::host
