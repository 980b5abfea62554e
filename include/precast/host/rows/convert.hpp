// Conversion of whole rows between scalar dtypes: bit for bit what convert<> does, in loops that vectorise.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/simd/byte_lanes.hpp>
#include <precast/host/simd/half_lanes.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::host {

namespace detail {

/// Whether f32 lies between, on the way from f16 or to it, so that instructions convert to f32 and from it.
template <class To, class From>
inline constexpr bool converts_by_way_of_f32 =
    has_half_lanes&& std::same_as<From, f16> != std::same_as<To, f16> && !std::same_as<From, f32> &&
    !std::same_as<To, f32> && !std::same_as<From, tf32> && !std::same_as<To, tf32>;

}  // namespace detail

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
  } else if constexpr (detail::converts_by_way_of_f32<To, From>) {
    std::array<f32, 256> wide;
    for (std::size_t i = 0; i < count; i += wide.size()) {
      const std::size_t some = std::min(wide.size(), count - i);
      convert_row<f32>(from.subspan(i, some), std::span(wide).first(some));
      convert_row<To, Saturates>(std::span<const f32>(wide).first(some), to.subspan(i, some));
    }
  } else {
    std::size_t i = 0;
    if constexpr (detail::has_half_lanes && std::same_as<From, f16> && std::same_as<To, f32> && !Saturates)
      for (; count - i >= 8; i += 8) detail::convert_eight(in + i, out + i);
    if constexpr (detail::has_half_lanes && std::same_as<From, f32> && std::same_as<To, f16>)
      for (; count - i >= 8; i += 8) detail::convert_eight<Saturates>(in + i, out + i);
    if constexpr (detail::has_bf16_rounding && std::same_as<From, f32> && std::same_as<To, bf16> &&
                  !Saturates)
      for (; count - i >= 16; i += 16) detail::Sink<bf16>{out + i}.put(0, detail::loaded_floats(in + i));
    for (; i < count; ++i) out[i] = convert_value<To, Saturates>(in[i]);
  }
}

/// Rounds f32 values to T and back, in place, as a store in T and a load would.
template <ScalarDtype T, bool Saturates = false>
void round_row(std::span<f32> values) {
  if constexpr (detail::has_half_lanes && std::same_as<T, f16>) {
    std::array<f16, 256> halves;
    for (std::size_t i = 0; i < values.size(); i += halves.size()) {
      const auto some = values.subspan(i, std::min(halves.size(), values.size() - i));
      convert_row<f16, Saturates>(std::span<const f32>(some), std::span(halves).first(some.size()));
      convert_row<f32>(std::span<const f16>(halves).first(some.size()), some);
    }
  } else if constexpr (!std::same_as<T, f32> || Saturates) {
    for (f32& value : values) value = convert_value<f32, false>(convert_value<T, Saturates>(value));
  }
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

/// The f32 buffer in which a row is computed before it is stored as T: the row itself
/// where T is f32, else `scratch`.
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

/// Values of one task of a pointwise loop: as f32 they fit the L1 cache.
inline constexpr std::int64_t values_per_chunk = 2048;

/// Fills `to` piece by piece: `decode(first, values)` writes f32 values from `first` on, each of which is
/// rounded once.
template <bool Saturates = false, ScalarDtype T, class Decode>
void store_decoded(std::span<T> to, Decode&& decode) {
  if constexpr (std::same_as<T, f32> && !Saturates) {
    decode(std::int64_t{0}, to);
  } else {
    std::array<f32, static_cast<std::size_t>(values_per_chunk)> scratch;
    for (std::size_t first = 0; first < to.size(); first += scratch.size()) {
      const auto some = std::span(scratch).first(std::min(scratch.size(), to.size() - first));
      decode(static_cast<std::int64_t>(first), some);
      store_row<Saturates>(std::span<const f32>(some), to.subspan(first, some.size()));
    }
  }
}

}  // namespace precast::host
