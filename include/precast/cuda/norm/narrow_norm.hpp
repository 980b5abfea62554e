// Norms with sums and intermediates narrower than f32 (problem/narrow_steps.hpp says what is rounded
// where). One block per set of values, in one order of additions; values are read again for each pass.
// Slow, as no model uses them.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/norm/norm_arguments.hpp>
#include <precast/cuda/rows/narrow_sum.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/narrow_activation.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

/// Sets of values that are normalised together, `across` of them side by side in each `pixels` rows: a row, a
/// head of a row, or a group of an image.
struct NarrowSets {
  bool columns_have_parameters = true;  ///< rather than the columns of a set
  std::int64_t across = 1, pixels = 1;
};

template <class From, class To, class W>
struct NarrowNormArguments : NormArguments<From, To, W>, NarrowSets {
  std::int64_t width;  ///< columns of a set
};

// Bytes moved: each value read two or three times and written once.
template <class Types, bool Centred, class Activation, class From, class W>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_norm_kernel(NarrowNormArguments<From, typename Types::result, W> a) {
  using Steps = NarrowNorm<Types>;
  const auto [down, set] = divide_index(block_index().x, a.across);
  const std::int64_t first_row = down * a.pixels, first_column = set * a.width;
  const std::int64_t count = a.pixels * a.width;
  const auto n = static_cast<f32>(count);
  const auto value = [&](std::int64_t i) {
    const auto [pixel, column] = divide_index(i, a.width);
    return to_f32(a.x.row(first_row + pixel)[first_column + column]);
  };
  f32 mean = 0;
  if constexpr (Centred) {
    const f32 sum = narrow_block_sum<Types, struct NarrowMean>(count, value);
    mean = planted<"inside ignored">(Steps::mean(sum, n), sum / n);
  }
  const auto deviation = [&](std::int64_t i) {
    return Centred ? Steps::deviation(value(i), mean) : value(i);
  };
  const f32 squares = narrow_block_sum<Types, struct NarrowSquares>(
      count, [&](std::int64_t i) { return Steps::square(deviation(i)); });
  const f32 inverse =
      planted<"inside ignored">(Steps::inverse(squares, n, a.eps), 1.0f / square_root(squares / n + a.eps));
  const std::int64_t batch = a.rows_per_batch.value() ? a.rows_per_batch.divide(down).quotient : 0;
  for (std::int64_t i = thread_index(); i < count; i += narrow_partial_sums) {
    const auto [pixel, column] = divide_index(i, a.width);
    const std::int64_t parameter = a.columns_have_parameters ? first_column + column : column;
    f32 y = Steps::normalised(deviation(i), inverse);
    if (a.scales) {
      const f32 scale = to_f32(a.scale.row(batch)[parameter]);
      y = math::rounded_product(y, a.one_plus ? 1.0f + scale : scale);
    }
    if (a.shifts) y += to_f32(a.shift.row(batch)[parameter]);
    a.out.row(first_row + pixel)[first_column + column] = round_to<typename Types::result, Types::saturate>(
        with_planted_dtype<"result ignored">(narrow_activation<Types, Activation>(y)));
  }
}

template <class Types, Around around, class Activation = elementwise::Identity, class From, class W>
void narrow_norm(const char* name, DeviceView<const From> x, const AffineIn<W, DeviceSpace>& affine,
                 const NarrowSets& sets, f32 eps, DeviceView<typename Types::result> out, Stream stream) {
  if (x.elements() == 0) return;
  const NarrowNormArguments<From, typename Types::result, W> arguments{norm_arguments(x, affine, eps, out),
                                                                       sets, x.columns() / sets.across};
  launch(name, narrow_norm_kernel<Types, around == Around::mean, Activation, From, W>,
         {{grid_blocks(x.rows() / sets.pixels * sets.across), 1, 1}, narrow_partial_sums}, stream, arguments);
}

}  // namespace precast::gpu::detail
