// Conversion of whole rows between scalar dtypes: bit for bit what convert<> does, in loops that vectorise.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/parallel.hpp>
#include <precast/tensor/as_view.hpp>

namespace precast::host {

namespace detail {

template <class T>
using code_of = decltype(T::bits);

/// Shift between a format's mantissa and f32's.
template <ScalarDtype T>
inline constexpr int mantissa_shift = 23 - dtype_traits<T>::format.mantissa_bits;

/// A scalar that is not f32, as f32: the same bits as convert<f32>, without branches.
template <ScalarDtype From>
[[gnu::always_inline]] inline f32 widen(From value) {
  if constexpr (std::same_as<From, bf16> || std::same_as<From, tf32>) {
    return convert<f32>(value);
  } else {
    constexpr FloatFormat format = dtype_traits<From>::format;
    constexpr std::uint32_t magnitude_mask = format.sign_code() - 1;
    const std::uint32_t code = value.bits;
    const std::uint32_t magnitude = code & magnitude_mask;
    const std::uint32_t sign = (code & format.sign_code()) << (32 - format.bits());
    // Shifted into place the code is the number divided by 2^(127 - bias), subnormals too: one exact product.
    constexpr f32 rescale = static_cast<f32>(power_of_two(127 - format.bias()));
    const std::uint32_t finite =
        std::bit_cast<std::uint32_t>(std::bit_cast<f32>(magnitude << mantissa_shift<From>) * rescale);
    std::uint32_t word = finite;
    if constexpr (format.specials == Specials::infinity_and_nan) {
      word = magnitude >= format.infinity_code() ? 0x7f800000u : word;
      word = magnitude > format.infinity_code() ? 0x7fc00000u : word;
    } else if constexpr (format.specials == Specials::nan_only) {
      word = magnitude == magnitude_mask ? 0x7fc00000u : word;
    }
    return std::bit_cast<f32>(word | sign);
  }
}

/// An f32 as another scalar: the same bits as convert<To>, without branches.
template <ScalarDtype To>
[[gnu::always_inline]] inline To narrow(f32 value) {
  if constexpr (std::same_as<To, bf16>) {
    return convert<bf16>(value);
  } else {
    constexpr FloatFormat format = dtype_traits<To>::format;
    constexpr int shift = mantissa_shift<To>;
    constexpr std::uint32_t first_normal = static_cast<std::uint32_t>(format.min_exponent() + 127) << 23;
    constexpr std::uint32_t exponent_offset = static_cast<std::uint32_t>(127 - format.bias()) << 23;
    constexpr std::uint32_t overflow =
        format.specials == Specials::infinity_and_nan ? format.infinity_code() : format.nan_code();
    // Adding 2^23 units of the smallest subnormal makes the adder itself round to that unit.
    constexpr f32 unit_sum =
        static_cast<f32>(power_of_two(format.min_exponent() - format.mantissa_bits + 23));
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = word & 0x7fffffffu;
    const std::uint32_t sign = (word >> 31) * format.sign_code();
    const std::uint32_t rounding = (std::uint32_t{1} << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    const std::uint32_t normal = (magnitude - exponent_offset + rounding) >> shift;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<f32>(magnitude) + unit_sum) -
                                    std::bit_cast<std::uint32_t>(unit_sum);
    std::uint32_t code = magnitude < first_normal ? subnormal : std::min(normal, overflow);
    code = magnitude > 0x7f800000u ? format.nan_code() : code;
    return To{static_cast<code_of<To>>(code | sign)};
  }
}

/// What a saturating store makes of a code that came from a value that is a number: never infinity, nor the
/// NaN that stands for overflow in a format without infinity.
template <ScalarDtype T>
[[gnu::always_inline]] inline T saturated(T stored) {
  constexpr FloatFormat format = dtype_traits<T>::format;
  constexpr std::uint32_t sign = format.sign_code();
  if constexpr (std::same_as<T, f32>) {
    const auto code = std::bit_cast<std::uint32_t>(stored);
    return std::bit_cast<f32>((code & sign) | std::min(code & (sign - 1), format.max_code()));
  } else {
    const std::uint32_t code = stored.bits;
    return T{static_cast<code_of<T>>((code & sign) | std::min(code & (sign - 1), format.max_code()))};
  }
}

template <ScalarDtype T>
[[gnu::always_inline]] inline bool is_nan(T value) {
  const f32 wide = [&] {
    if constexpr (std::same_as<T, f32>)
      return value;
    else
      return widen(value);
  }();
  return wide != wide;
}

/// The conversion of one value. tf32's codes are wider than 16 bits and go through convert<> unless f32 is
/// the other side: through f32 a NaN would keep bits that convert<> drops.
template <ScalarDtype To, bool Saturates, ScalarDtype From>
[[gnu::always_inline]] inline To convert_one(From value) {
  if constexpr (Saturates) {
    const To stored = convert_one<To, false>(value);
    const To largest = saturated(stored);
    return is_nan(value) ? stored : largest;
  } else if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<To, f32>) {
    return widen(value);
  } else if constexpr (std::same_as<From, f32>) {
    return narrow<To>(value);
  } else if constexpr (std::same_as<From, tf32> || std::same_as<To, tf32>) {
    return convert<To>(value);
  } else {
    return narrow<To>(widen(value));
  }
}

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
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = detail::convert_one<To, Saturates>(in[i]);
  }
}

/// Rounds f32 values to T and back: what remains of them after a store in T.
template <ScalarDtype T, bool Saturates = false>
void round_row(std::span<f32> values) {
  if constexpr (!std::same_as<T, f32> || Saturates)
    for (f32& value : values)
      value = detail::convert_one<f32, false>(detail::convert_one<T, Saturates>(value));
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

/// Converts an array to one of another dtype with the same number of values and columns; both may be strided.
template <ScalarDtype To, bool Saturates = false, ScalarArray A>
void convert_values(const A& from, View<To> to) {
  const auto in = as_view(from);
  if (in.elements() != to.elements() || in.columns() != to.columns())
    throw ShapeError("cannot copy " + to_string(in.shape()) + " into " + to_string(to.shape()));
  if (in.elements() == 0) return;
  const bool whole = in.contiguous() && to.contiguous();
  const std::int64_t rows = whole ? 1 : in.rows(), columns = whole ? in.elements() : in.columns();
  constexpr std::int64_t chunk = 16 * values_per_chunk;
  const std::int64_t chunks = (columns + chunk - 1) / chunk;
  // Short rows are grouped, so that a task is worth a thread.
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, chunk / columns);
  const std::int64_t row_groups = (rows + rows_per_task - 1) / rows_per_task;
  parallel_for(row_groups * chunks, [&](std::int64_t task) {
    const std::int64_t first = task % chunks * chunk, count = std::min(chunk, columns - first);
    const std::int64_t begin = task / chunks * rows_per_task, end = std::min(rows, begin + rows_per_task);
    for (std::int64_t r = begin; r < end; ++r)
      convert_row<To, Saturates>(
          std::span<const value_type_of<A>>(in.data() + r * in.row_stride() + first,
                                            static_cast<std::size_t>(count)),
          std::span<To>(to.data() + r * to.row_stride() + first, static_cast<std::size_t>(count)));
  });
}

}  // namespace precast::host
