// Norms with sums and intermediates narrower than f32 (problem/narrow_steps.hpp says what is rounded where),
// in a fixed order of additions. Not optimised: no model uses them.
#pragma once

#include <cstdint>

#include <precast/dtype/exact_arithmetic.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/narrow_activation.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host::detail {

PRECAST_EXACT_ARITHMETIC_BEGIN

/// Normalises `count` values, value(i), and calls store(i, normalised) for each. Returns the factor of
/// deviations.
template <class Types, Around around, class Value, class Store>
[[gnu::noinline]] f32 narrow_norm(std::int64_t count, f32 eps, Value&& value, Store&& store) {
  using Steps = NarrowNorm<Types>;
  const auto n = static_cast<f32>(count);
  constexpr bool centred = around == Around::mean;
  f32 mean = 0;
  if constexpr (centred) mean = Steps::mean(narrow_sum<Types>(count, value), n);
  const auto deviation = [&](std::int64_t i) {
    return centred ? Steps::deviation(value(i), mean) : value(i);
  };
  const f32 squares = narrow_sum<Types>(count, [&](std::int64_t i) { return Steps::square(deviation(i)); });
  const f32 inverse = Steps::inverse(squares, n, eps);
  for (std::int64_t i = 0; i < count; ++i) store(i, Steps::normalised(deviation(i), inverse));
  return inverse;
}

template <class Types, class From, class W>
void narrow_layer_norm(HostView<const From> x, const AffineIn<W, HostSpace>& affine, f32 eps,
                       HostView<typename Types::result> out) {
  parallel_for(x.rows(), [&](std::int64_t r) {
    const auto row = x.row(r);
    const auto to = out.row(r);
    narrow_norm<Types, Around::mean>(
        x.columns(), eps,
        [&](std::int64_t i) { return convert_value<f32>(row[static_cast<std::size_t>(i)]); },
        [&](std::int64_t i, f32 y) {
          const auto at = static_cast<std::size_t>(i);
          if (affine.scale.data()) {
            const f32 scale = convert_value<f32>(affine.scale.row(affine.row_for(r))[at]);
            y *= affine.one_plus ? 1.0f + scale : scale;
          }
          if (affine.shift.data()) y += convert_value<f32>(affine.shift.row(affine.row_for(r))[at]);
          to[at] = convert_value<typename Types::result, Types::saturate>(y);
        });
  });
}

template <class Types, class From, class W>
void narrow_rms_norm(HostView<const From> x, HostView<const W> scale, f32 eps,
                     HostView<typename Types::result> out) {
  const std::int64_t width = scale.columns();
  parallel_for(x.rows(), [&](std::int64_t r) {
    for (std::int64_t first = 0; first < x.columns(); first += width) {
      const auto of_head = [&](const auto& row, std::int64_t i) -> auto& {
        return row[static_cast<std::size_t>(first + i)];
      };
      narrow_norm<Types, Around::zero>(
          width, eps, [&](std::int64_t i) { return convert_value<f32>(of_head(x.row(r), i)); },
          [&](std::int64_t i, f32 y) {
            of_head(out.row(r), i) = convert_value<typename Types::result, Types::saturate>(
                y * convert_value<f32>(scale.data()[i]));
          });
    }
  });
}

template <class Types, class Activation, class From, class W>
void narrow_group_norm(HostView<const From> x, std::int64_t groups, HostView<const W> scale,
                       HostView<const W> shift, f32 eps, HostView<typename Types::result> out) {
  const std::int64_t width = x.columns() / groups, pixels = x.shape()[1] * x.shape()[2];
  parallel_for(x.shape()[0] * groups, [&](std::int64_t task) {
    const std::int64_t first_pixel = task / groups * pixels, first = task % groups * width;
    const auto at = [&](const auto& view, std::int64_t i) -> auto& {
      return view.data()[(first_pixel + i / width) * view.row_stride() + first + i % width];
    };
    narrow_norm<Types, Around::mean>(
        pixels * width, eps, [&](std::int64_t i) { return convert_value<f32>(at(x, i)); },
        [&](std::int64_t i, f32 y) {
          const std::int64_t channel = first + i % width;
          y = narrow_activation<Types, Activation>(y * convert_value<f32>(scale.data()[channel]) +
                                                   convert_value<f32>(shift.data()[channel]));
          at(out, i) = convert_value<typename Types::result, Types::saturate>(y);
        });
  });
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::host::detail
