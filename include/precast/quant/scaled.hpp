// fp8_e4m3, fp8_e5m2 and int8 with f32 scales for a tensor or for each row: value = code * scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/float_format.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/parallel.hpp>
#include <precast/quant/finite.hpp>
#include <precast/quant/rounding.hpp>

namespace precast::quant {

using precast::ScaledCode;

/// The largest magnitude that a code stands for, and a group's goes to: 448, 57344 and 127.
template <ScaledCode Code>
constexpr f32 largest_code() {
  if constexpr (std::same_as<Code, std::int8_t>)
    return 127;
  else
    return static_cast<f32>(dtype_traits<Code>::format.max());
}

PRECAST_EXACT_ARITHMETIC_BEGIN

/// The scale of values whose largest magnitude is `most`.
template <ScaledCode Code>
f32 scale_for(f32 most) {
  return most == 0 ? 1.0f : std::max(most / largest_code<Code>(), std::numeric_limits<f32>::denorm_min());
}

namespace detail {

/// A quotient as a code: to nearest, ties to even, never beyond the largest. In f64 the quotient of two f32
/// is on the same side of every tie as the exact one, so this is one rounding.
template <ScaledCode Code>
Code scaled_code(double quotient) {
  if constexpr (std::same_as<Code, std::int8_t>) {
    const double limited = std::clamp(quotient, -127.0, 127.0);
    return static_cast<std::int8_t>((limited + 0x1.8p52) - 0x1.8p52);
  } else {
    return precast::detail::saturated(from_double<Code>(quotient));
  }
}

inline constexpr std::size_t scaled_at_once = 8192;

/// Tasks of whole pieces of a few thousand values, none of which crosses from one scale's values to the
/// next's: calls piece(scale, first, count).
template <class Piece>
void for_scaled_pieces(std::size_t values, std::size_t scales, Piece piece) {
  const std::size_t run = values / scales, pieces = (run + scaled_at_once - 1) / scaled_at_once;
  host::parallel_for(static_cast<std::int64_t>(scales * pieces), [&](std::int64_t task) {
    const std::size_t scale = static_cast<std::size_t>(task) / pieces;
    const std::size_t first = static_cast<std::size_t>(task) % pieces * scaled_at_once;
    piece(scale, scale * run + first, std::min(scaled_at_once, run - first));
  });
}

inline void check_scaled(const char* what, std::size_t values, std::size_t codes, std::size_t scales) {
  if (codes != values || (values > 0 && (scales == 0 || values % scales != 0)))
    throw ShapeError(std::string(what) + ": " + std::to_string(codes) + " codes and " +
                     std::to_string(scales) + " scales for " + std::to_string(values) +
                     " values: as many codes as values are needed, and one scale or one for each row");
}

}  // namespace detail

/// Writes the nearest code of each value under a scale that is known, ties to even, on the caller's thread.
/// Values are finite.
template <ScaledCode Code>
void encode_under_scale(std::span<const f32> values, f32 scale, std::span<Code> codes) {
  const auto divisor = static_cast<double>(scale);
  for (std::size_t i = 0; i < values.size(); ++i)
    codes[i] = detail::scaled_code<Code>(static_cast<double>(values[i]) / divisor);
}

/// Encodes `values` to codes under scales, on all threads of parallel_for. One scale is the tensor's; as many
/// as there are rows are those of the rows; any other number that divides the values cuts them into so many
/// runs. A scale is the largest magnitude of its values over the largest code's (448, 57344, 127), rounded to
/// f32 and at least the least f32; 1 where all values are 0. A code is the nearest to value / scale, ties to
/// even.
///
/// Throws ShapeError where the sizes do not fit, and InputError, which names the place, for a value that is
/// infinite or NaN. Codes and scales are unspecified then.
template <ScaledCode Code>
void encode_scaled(std::span<const f32> values, std::span<Code> codes, std::span<f32> scales) {
  detail::check_scaled("encode_scaled", values.size(), codes.size(), scales.size());
  if (values.empty()) return;
  const std::size_t run = values.size() / scales.size();
  const std::size_t pieces = (run + detail::scaled_at_once - 1) / detail::scaled_at_once;
  std::vector<f32> largest(scales.size() * pieces);
  detail::for_scaled_pieces(
      values.size(), scales.size(), [&](std::size_t s, std::size_t first, std::size_t count) {
        const std::span<const f32> here = values.subspan(first, count);
        detail::refuse_not_finite(here, first, std::same_as<Code, std::int8_t> ? "int8" : "fp8");
        f32 most = 0;
        for (const f32 value : here) most = std::fabs(value) > most ? std::fabs(value) : most;
        largest[s * pieces + (first - s * run) / detail::scaled_at_once] = most;
      });
  for (std::size_t s = 0; s < scales.size(); ++s) {
    const f32 most = *std::max_element(largest.begin() + static_cast<std::ptrdiff_t>(s * pieces),
                                       largest.begin() + static_cast<std::ptrdiff_t>((s + 1) * pieces));
    scales[s] = scale_for<Code>(most);
  }
  detail::for_scaled_pieces(
      values.size(), scales.size(), [&](std::size_t s, std::size_t first, std::size_t count) {
        encode_under_scale<Code>(values.subspan(first, count), scales[s], codes.subspan(first, count));
      });
}

/// The values of codes under scales: code * scale, rounded to f32. Throws ShapeError as encode_scaled does.
template <ScaledCode Code>
void decode_scaled(std::span<const Code> codes, std::span<const f32> scales, std::span<f32> values) {
  detail::check_scaled("decode_scaled", values.size(), codes.size(), scales.size());
  if (values.empty()) return;
  detail::for_scaled_pieces(values.size(), scales.size(),
                            [&](std::size_t s, std::size_t first, std::size_t count) {
                              for (std::size_t i = first; i < first + count; ++i) {
                                if constexpr (std::same_as<Code, std::int8_t>)
                                  values[i] = static_cast<f32>(codes[i]) * scales[s];
                                else
                                  values[i] = convert_value<f32>(codes[i]) * scales[s];
                              }
                            });
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
