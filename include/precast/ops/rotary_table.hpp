// Tables of rotary angles.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/backend.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/rotation.hpp>
#include <precast/tensor/arrived.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Cosines and sines of rotary angles, [S, D] each: every angle is stored twice, for both values of its
/// pair. The type names the layout of pairs, so that no table can rotate pairs of the other layout.
template <RotaryPairs Pairs>
struct RotaryTableOf {
  Tensor<f32> cos, sin;
};
/// Pairs are neighbours, values 2i and 2i + 1: Su et al. 2021, FLUX.
using RotaryTable = RotaryTableOf<RotaryPairs::neighbours>;
/// Pairs span halves, values i and i + D / 2: Llama and GPT-NeoX in transformers.
using RotaryTableOfHalves = RotaryTableOf<RotaryPairs::halves>;

/// The table of tokens with several coordinates (Su et al. 2021, with axes as in FLUX): `ids` holds
/// axes.size() coordinates for each token, and coordinate a rotates axes[a] values of a head, D in total.
/// Frequencies theta^(-2i / axis) and angles are float64; their cosines and sines are rounded to f32.
/// Throws ShapeError where ids and axes do not fit or an axis is odd.
inline RotaryTable rotary_table(std::span<const std::int64_t> axes, double theta, std::span<const f32> ids,
                                const Context& context = current_context()) {
  std::int64_t width = 0;
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis % 2 != 0)
      throw ShapeError("rotary_table: an axis of " + std::to_string(axis) +
                       " values cannot be cut into pairs");
    width += axis;
  }
  if (axes.empty() || ids.size() % axes.size() != 0)
    throw ShapeError("rotary_table: " + std::to_string(ids.size()) + " coordinates are not one for each of " +
                     std::to_string(axes.size()) + " axes of every token");
  const auto tokens = static_cast<std::int64_t>(ids.size() / axes.size());
  HostTensor<f32> cosines(Shape{tokens, width}), sines(Shape{tokens, width});
  std::vector<double> frequencies;
  for (const std::int64_t axis : axes)
    for (std::int64_t i = 0; i < axis; i += 2)
      frequencies.push_back(1.0 / std::pow(theta, static_cast<double>(i) / static_cast<double>(axis)));
  host::parallel_for(tokens, [&](std::int64_t token) {
    std::int64_t column = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const double position = ids[static_cast<std::size_t>(token) * axes.size() + a];
      for (std::int64_t i = 0; i < axes[a]; i += 2, column += 2) {
        const double angle = position * frequencies[static_cast<std::size_t>(column / 2)];
        for (const std::int64_t c : {column, column + 1}) {
          cosines.data()[token * width + c] = static_cast<f32>(std::cos(angle));
          sines.data()[token * width + c] = static_cast<f32>(std::sin(angle));
        }
      }
    }
  });
  const ContextScope scope(context);
  return {arrived(std::move(cosines)), arrived(std::move(sines))};
}

/// The frequencies of the pairs of a head of `width` values, in radians a position: theta^(-2i / width).
/// Throws ShapeError for an odd width.
inline std::vector<double> rotary_frequencies(std::int64_t width, double theta) {
  if (width < 2 || width % 2 != 0)
    throw ShapeError("rotary_frequencies: a head of " + std::to_string(width) +
                     " values cannot be cut into halves");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width)));
  return frequencies;
}

/// The table for pairs that span halves, as in Llama, D = 2 * frequencies.size(). Its row p holds the
/// angles positions[p] * frequencies[i], computed in float64, their cosines and sines rounded to f32, at i
/// and i + D / 2. A model that scales its frequencies for longer contexts passes those; `magnitude`
/// multiplies cosines and sines, and with them queries and keys (Peng et al. 2023, YaRN).
inline RotaryTableOfHalves rotary_table_of_halves(std::span<const double> frequencies,
                                                  std::span<const f32> positions, double magnitude = 1,
                                                  const Context& context = current_context()) {
  const auto tokens = static_cast<std::int64_t>(positions.size()),
             half = static_cast<std::int64_t>(frequencies.size()), width = 2 * half;
  HostTensor<f32> cosines(Shape{tokens, width}), sines(Shape{tokens, width});
  host::parallel_for(tokens, [&](std::int64_t token) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(positions[static_cast<std::size_t>(token)]) *
                           frequencies[static_cast<std::size_t>(i)];
      for (const std::int64_t c : {i, i + half}) {
        cosines.data()[token * width + c] = static_cast<f32>(magnitude * std::cos(angle));
        sines.data()[token * width + c] = static_cast<f32>(magnitude * std::sin(angle));
      }
    }
  });
  const ContextScope scope(context);
  return {arrived(std::move(cosines)), arrived(std::move(sines))};
}
/// The same with rotary_frequencies(width, theta).
inline RotaryTableOfHalves rotary_table_of_halves(std::int64_t width, double theta,
                                                  std::span<const f32> positions,
                                                  const Context& context = current_context()) {
  return rotary_table_of_halves(rotary_frequencies(width, theta), positions, 1, context);
}

}  // namespace PRECAST_BACKEND

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError unless x is [B, S, heads * D], for a table of [S, D] and an even D.
template <RotaryPairs Pairs>
void require_heads_of(std::string_view op, const Shape& x, const RotaryTableOf<Pairs>& table) {
  const Shape& angles = table.cos.shape();
  if (x.rank() != 3 || angles.rank() != 2 || angles != table.sin.shape() || angles[0] != x[1] ||
      angles[1] < 1 || angles[1] % 2 != 0 || x[2] % angles[1] != 0)
    shapes_do_not_fit(
        op, x, angles,
        "are not [B, S, heads * D] and [S, D] for an even D of 2 or more: make the table of the "
        "S tokens that are rotated, and as wide as a head");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

}  // namespace precast
