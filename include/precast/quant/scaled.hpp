// fp8_e4m3, fp8_e5m2 and int8 with f32 scales for a tensor or for each row: value = code * scale.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/check_importance.hpp>
#include <precast/quant/encode_options.hpp>
#include <precast/quant/finite.hpp>
#include <precast/quant/largest_magnitude.hpp>
#include <precast/quant/scaled_code.hpp>
#include <precast/quant/search_row_scales.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

inline constexpr std::size_t scaled_at_once = 8192;

/// Calls piece(scale, first, count) in parallel for pieces of a few thousand values, none of which crosses
/// from the values of one scale to those of the next.
template <class Piece>
void for_scaled_pieces(std::size_t values, std::size_t scales, Piece piece) {
  const std::size_t run = values / scales, pieces = ceil_divide(run, scaled_at_once);
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

/// Replaces the reference's scales where the search finds better ones. Sums are taken over pieces of
/// `in_piece` values and added in order: the same for any number of threads.
template <ScaledCode Code>
void search_scales(std::span<const f32> values, std::span<f32> scales, std::span<const f32> importance,
                   std::size_t in_piece) {
  const std::size_t run = values.size() / scales.size(), pieces = ceil_divide(run, in_piece);
  const auto search = [&](std::int64_t scale) {
    const std::span<const f32> here = values.subspan(static_cast<std::size_t>(scale) * run, run);
    f32& best = scales[static_cast<std::size_t>(scale)];
    best = search_scale<Code>(best, [&](const auto& sums_of) {
      return sum_of_pieces(static_cast<std::int64_t>(pieces), [&](std::int64_t piece) {
        const std::size_t first = static_cast<std::size_t>(piece) * in_piece;
        return sums_of(here.subspan(first, std::min(in_piece, run - first)), importance);
      });
    });
  };
  if (scales.size() == 1) return search(0);  // its pieces run in parallel
  host::parallel_for(static_cast<std::int64_t>(scales.size()), search);
}

/// encode_scaled for values in rows of `columns`, where rows have an importance or sums are per row.
template <ScaledCode Code>
void encode_scaled_rows(std::span<const f32> values, std::span<Code> codes, std::span<f32> scales,
                        const EncodeOptions& options, std::size_t columns) {
  check_importance(options.importance, values.size(), 1, options.encoder);
  const std::size_t run = values.size() / scales.size();
  if (!options.importance.empty() && run % options.importance.size() != 0)
    throw ShapeError("encode: an importance of " + std::to_string(options.importance.size()) +
                     " columns for scales of " + std::to_string(run) +
                     " values each: it needs one number for each column of a row");
  const std::size_t pieces = ceil_divide(run, scaled_at_once);
  std::vector<f32> largest(scales.size() * pieces);
  for_scaled_pieces(values.size(), scales.size(), [&](std::size_t s, std::size_t first, std::size_t count) {
    const std::span<const f32> here = values.subspan(first, count);
    refuse_not_finite(here, first, std::same_as<Code, std::int8_t> ? "int8" : "fp8");
    largest[s * pieces + (first - s * run) / scaled_at_once] = quant::largest_magnitude(here);
  });
  for (std::size_t s = 0; s < scales.size(); ++s)
    scales[s] = scale_for<Code>(quant::largest_magnitude(std::span(largest).subspan(s * pieces, pieces)));
  if (options.encoder == Encoder::search) search_scales<Code>(values, scales, options.importance, columns);
  for_scaled_pieces(values.size(), scales.size(), [&](std::size_t s, std::size_t first, std::size_t count) {
    encode_under_scale<Code>(values.subspan(first, count), scales[s], codes.subspan(first, count));
  });
}

}  // namespace detail

/// Encodes `values` to codes under scales, on all threads of parallel_for. One scale is the tensor's; as many
/// as there are rows are those of the rows; any other number that divides the values cuts them into so many
/// runs. The reference encoder's scale is the largest magnitude of its values over the largest code's (448,
/// 57344, 127), rounded to f32 and at least the least f32; 1 where all values are 0. The search encoder's has
/// a smaller sum of squared errors over its values, each times its column's importance (options.importance,
/// as many as a row has values), or is the reference's. A code is the nearest to value / scale, ties to even.
///
/// Throws ShapeError where the sizes do not fit, and InputError, which names the place, for a value that is
/// infinite or NaN, and for an importance that is no weight. Codes and scales are unspecified then.
template <ScaledCode Code>
void encode_scaled(std::span<const f32> values, std::span<Code> codes, std::span<f32> scales,
                   const EncodeOptions& options = {}) {
  detail::check_scaled("encode_scaled", values.size(), codes.size(), scales.size());
  if (values.empty()) return;
  detail::encode_scaled_rows<Code>(
      values, codes, scales, options,
      options.importance.empty() ? detail::scaled_at_once : options.importance.size());
}

/// The values of codes under scales: code * scale, rounded to f32. Throws ShapeError as encode_scaled does.
template <ScaledCode Code>
void decode_scaled(std::span<const Code> codes, std::span<const f32> scales, std::span<f32> values) {
  detail::check_scaled("decode_scaled", values.size(), codes.size(), scales.size());
  if (values.empty()) return;
  detail::for_scaled_pieces(
      values.size(), scales.size(), [&](std::size_t s, std::size_t first, std::size_t count) {
        for (std::size_t i = first; i < first + count; ++i)
          values[i] = precast::detail::value_of_code<Code>(std::bit_cast<std::uint8_t>(codes[i])) * scales[s];
      });
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
