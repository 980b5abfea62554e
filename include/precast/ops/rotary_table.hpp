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
#include <precast/host/parallel.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/tensor/arrived.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Cosines and sines of rotary angles, [S, D] each: every angle stands twice, for both values of its pair.
struct RotaryTable {
  Tensor<f32> cos, sin;
};

/// The angles of tokens with several coordinates (Su et al. 2021, with axes as FLUX has them): ids holds each
/// token's coordinates, axes.size() to a token, axes the values of a head that each coordinate turns, D in
/// sum. Frequencies are theta^(-2i / axis) in float64, and so are the angles; their cosines and sines are
/// rounded to f32. Throws ShapeError where ids and axes do not fit or an axis is odd.
inline RotaryTable rotary_table(std::span<const std::int64_t> axes, double theta, std::span<const f32> ids) {
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
  return {arrived(std::move(cosines)), arrived(std::move(sines))};
}

}  // namespace PRECAST_BACKEND

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError unless x is [B, S, heads * D], for a table of [S, D] and an even D.
inline void require_heads_of(std::string_view op, const Shape& x, const RotaryTable& table) {
  const Shape& angles = table.cos.shape();
  if (x.rank() != 3 || angles.rank() != 2 || angles != table.sin.shape() || angles[0] != x[1] ||
      angles[1] < 1 || angles[1] % 2 != 0 || x[2] % angles[1] != 0)
    shapes_do_not_fit(op, x, angles, "are not [B, S, heads * D] and [S, D] for an even D");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

}  // namespace precast
