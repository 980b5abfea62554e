// Gradients of layer and RMS normalisation: one kernel for the input, which keeps what a row was normalised
// with, and column sums for the parameters.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/rows/column_sums.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// The normalisation of a run of values: (x - mean - rest) inverse.
struct Normaliser {
  f32 mean, rest, inverse;
  template <class Types, bool Centred>
  PRECAST_DEVICE f32 of(f32 x) const {
    if constexpr (is_narrow<Types>) {
      using Steps = NarrowNorm<Types>;
      return Steps::normalised(Centred ? Steps::deviation(x, mean) : x, inverse);
    } else {
      return ((x - mean) - rest) * inverse;
    }
  }
};

template <class DY, class X, class W, class To>
struct NormGradientArguments {
  DeviceRows<const DY> dy;
  DeviceRows<const X> x;
  GlobalPointer<const W> weight;
  DeviceRows<To> dx;
  GlobalPointer<f32> kept;  ///< three for each run
  std::int64_t runs_of_row, width;
  f32 eps;
  bool has_weight;
};

/// The mean of a run, 0 unless Centred, and the inverse of the root mean square around it, with eps.
template <class Types, bool Centred, class Value>
PRECAST_DEVICE Normaliser normaliser_of(std::int64_t count, f32 eps, Value&& value) {
  const auto n = static_cast<f32>(count);
  Normaliser by{0, 0, 0};
  if constexpr (is_narrow<Types>) {
    using Steps = NarrowNorm<Types>;
    if constexpr (Centred) by.mean = Steps::mean(sum_in_block<Types, struct NarrowMeans>(count, value), n);
    by.inverse =
        Steps::inverse(sum_in_block<Types, struct NarrowSquares>(
                           count,
                           [&](std::int64_t i) {
                             return Steps::square(Centred ? Steps::deviation(value(i), by.mean) : value(i));
                           }),
                       n, eps);
  } else {
    if constexpr (Centred) {
      by.mean = sum_in_block<Types, struct Means>(count, value) / n;
      by.rest = planted<"rest of the mean">(sum_in_block<Types, struct RestsOfMeans>(
                                                count, [&](std::int64_t i) { return value(i) - by.mean; }) /
                                                n,
                                            0.0f);
    }
    const f32 squares = sum_in_block<Types, struct SquaresOfDeviations>(count, [&](std::int64_t i) {
      const f32 deviation = (value(i) - by.mean) - by.rest;
      return deviation * deviation;
    });
    by.inverse = 1.0f / square_root(squares / n + eps);
  }
  return by;
}

// Bytes moved: x and dy read once from memory, and three to five times from a cache; dx written once, and
// 12 for a run. One block per run, however short it is.
template <class Types, bool Centred, class DY, class X, class W>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    norm_gradient_kernel(NormGradientArguments<DY, X, W, typename Types::result> a) {
  using Inside = typename Types::inside;
  const std::int64_t run = block_index().x;
  const auto [row, part] = divide_index(run, a.runs_of_row);
  // A layer norm's run is its row.
  std::int64_t offset = 0;
  if constexpr (!Centred) offset = planted<"first run of the row">(part, std::int64_t{0}) * a.width;
  const GlobalPointer<const X> x = a.x.row(row) + offset;
  const GlobalPointer<const DY> dy = a.dy.row(row) + offset;
  const auto kept = [](f32 value) { return planted<"inside ignored">(rounded_to<Inside>(value), value); };
  const Normaliser by =
      normaliser_of<Types, Centred>(a.width, a.eps, [&](std::int64_t i) { return to_f32(x[i]); });
  const auto normalised = [&](std::int64_t i) { return by.template of<Types, Centred>(to_f32(x[i])); };
  const auto g = [&](std::int64_t i) {
    return a.has_weight ? kept(to_f32(dy[i]) * planted<"weight ignored">(to_f32(a.weight[i]), 1.0f))
                        : to_f32(dy[i]);
  };
  const auto n = static_cast<f32>(a.width);
  f32 mean = 0;
  if constexpr (Centred)
    mean = planted<"mean of gradients">(kept(sum_in_block<Types, struct MeansOfGradients>(a.width, g) / n),
                                        0.0f);
  const f32 along = kept(sum_in_block<Types, struct GradientsAlong>(
                             a.width, [&](std::int64_t i) { return kept(g(i) * normalised(i)); }) /
                         n);
  for (std::int64_t i = thread_index(); i < a.width; i += narrow_partial_sums)
    a.dx.row(row)[offset + i] = round_to<typename Types::result, Types::saturate>(
        by.inverse * kept(kept(g(i) - mean) - kept(normalised(i) * along)));
  if (thread_index() == 0) {
    a.kept[3 * run] = by.mean;
    a.kept[3 * run + 1] = by.rest;
    a.kept[3 * run + 2] = by.inverse;
  }
}

/// The term of a run in a column of the gradient of a weight, or from column `width` on, of a bias.
template <class Types, bool Centred, class DY, class X>
struct ParameterTerm {
  DeviceRows<const DY> dy;
  DeviceRows<const X> x;
  GlobalPointer<const f32> kept;
  std::int64_t runs_of_row, width;

  PRECAST_DEVICE f32 operator()(std::int64_t run, std::int64_t column) const {
    const auto [row, part] = divide_index(run, runs_of_row);
    const bool of_bias = column >= width;
    const std::int64_t at = part * width + (of_bias ? column - width : column);
    const f32 gradient = to_f32(dy.row(row)[at]);
    if (of_bias) return gradient;
    const Normaliser by{kept[3 * run], kept[3 * run + 1], kept[3 * run + 2]};
    return rounded_to<typename Types::inside>(
        gradient *
        planted<"gradient not normalised">(by.template of<Types, Centred>(to_f32(x.row(row)[at])), 1.0f));
  }
};

template <class Types, Around around, class DY, class X, class W, class G>
void norm_gradient(const char* name, DeviceView<const DY> dy, DeviceView<const X> x,
                   DeviceView<const W> weight, f32 eps, bool accumulate,
                   DeviceView<typename Types::result> dx, DeviceView<G> dweight, DeviceView<G> dbias,
                   Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "Gradients of norms take their operands as given, or widened to f32.");
  constexpr bool centred = around == Around::mean;
  const std::int64_t width = weight.data() ? weight.columns() : x.columns();
  const std::int64_t runs_of_row = width ? x.columns() / width : 0, runs = x.rows() * runs_of_row;
  const StreamScope scope(stream);  // of what runs were normalised with
  Tensor<f32, DeviceMemory> kept(Shape{max_of<std::int64_t>(runs, 1), 3});
  launch(name, norm_gradient_kernel<Types, centred, DY, X, W>,
         {{grid_blocks(runs), 1, 1}, narrow_partial_sums}, stream,
         NormGradientArguments<DY, X, W, typename Types::result>{.dy = dy,
                                                                 .x = x,
                                                                 .weight = pointer_to(weight),
                                                                 .dx = dx,
                                                                 .kept = pointer_to(kept.view()),
                                                                 .runs_of_row = runs_of_row,
                                                                 .width = width,
                                                                 .eps = eps,
                                                                 .has_weight = weight.data() != nullptr});
  sum_columns<Types>("sums_of_norm_gradients",
                     ParameterTerm<Types, centred, DY, X>{.dy = dy,
                                                          .x = x,
                                                          .kept = pointer_to(std::as_const(kept).view()),
                                                          .runs_of_row = runs_of_row,
                                                          .width = width},
                     runs, dweight.elements() + dbias.elements(),
                     TotalsOutput<G>::of(dweight, dbias, accumulate), stream);
}

}  // namespace detail

/// dx of layer normalisation from dy; and dweight and dbias, the sums over all rows of dy times the
/// normalised x, and of dy. Without weight, dweight and dbias where they have no data.
template <class Types, class DY, class X, class W, class G>
void layer_norm_gradient(DeviceView<const DY> dy, DeviceView<const X> x, DeviceView<const W> weight, f32 eps,
                         const GradientOptions& options, DeviceView<typename Types::result> dx,
                         DeviceView<G> dweight, DeviceView<G> dbias, Stream stream) {
  detail::norm_gradient<Types, Around::mean>("layer_norm_gradient", dy, x, weight, eps, options.accumulate,
                                             dx, dweight, dbias, stream);
}

/// The same for RMS normalisation of each run of `weight.columns()` values of a row.
template <class Types, class DY, class X, class W, class G>
void rms_norm_gradient(DeviceView<const DY> dy, DeviceView<const X> x, DeviceView<const W> weight, f32 eps,
                       const GradientOptions& options, DeviceView<typename Types::result> dx,
                       DeviceView<G> dweight, Stream stream) {
  detail::norm_gradient<Types, Around::zero>("rms_norm_gradient", dy, x, weight, eps, options.accumulate, dx,
                                             dweight, DeviceView<G>(), stream);
}

}  // namespace precast::gpu
