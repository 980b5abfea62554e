// Gradients of layer and RMS normalisation: statistics recomputed from the input in f32, or in the row's
// dtypes, and parameter gradients summed in one order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/host/norm/narrow_norm.hpp>
#include <precast/host/norm/norm.hpp>
#include <precast/host/rows/column_sums.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/runtime/thread_scratch.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

struct NormGradientScratch;

/// The sum of `term(i)` as the row has it.
template <class Types, class Term>
f32 sum_in_row(std::int64_t count, Term&& term) {
  if constexpr (is_narrow<Types>)
    return narrow_sum<Types>(count, term);
  else
    return sum_of(count, term);
}

/// Normalises the values of a run into `to`; returns the factor of deviations.
template <class Types, Around around>
f32 normalise(std::span<const f32> x, f32 eps, f32* to) {
  const auto count = static_cast<std::int64_t>(x.size());
  const f32* const in = x.data();
  f32 inverse = 0;
  if constexpr (is_narrow<Types>) {
    inverse = narrow_norm<Types, around>(
        count, eps, [in](std::int64_t i) { return in[i]; }, [to](std::int64_t i, f32 y) { to[i] = y; });
  } else if constexpr (around == Around::mean) {
    const Moments moments = moments_of(x);
    inverse = 1.0f / std::sqrt(moments.variance + eps);
    for (std::int64_t i = 0; i < count; ++i) to[i] = ((in[i] - moments.mean) - moments.rest) * inverse;
  } else {
    const f32 squares = sum_of(count, [in](std::int64_t i) { return in[i] * in[i]; });
    inverse = 1.0f / std::sqrt(squares / static_cast<f32>(count) + eps);
    for (std::int64_t i = 0; i < count; ++i) to[i] = in[i] * inverse;
  }
  return inverse;
}

/// The gradient of one run's input: inverse (g - mean g - normalised mean(g normalised)) with g = dy weight.
/// Without the first mean around zero. `g` is scratch.
template <class Types, Around around>
void norm_gradient_of_run(std::int64_t count, const f32* dy, const f32* normalised, const f32* weight,
                          f32 inverse, f32* g, f32* dx) {
  using Inside = typename Types::inside;
  const auto kept = [](f32 value) { return rounded_to<Inside>(value); };
  const auto n = static_cast<f32>(count);
  for (std::int64_t i = 0; i < count; ++i) g[i] = weight ? kept(dy[i] * weight[i]) : dy[i];
  f32 mean = 0;
  if constexpr (around == Around::mean)
    mean = kept(sum_in_row<Types>(count, [g](std::int64_t i) { return g[i]; }) / n);
  const f32 along =
      kept(sum_in_row<Types>(count, [&](std::int64_t i) { return kept(g[i] * normalised[i]); }) / n);
  for (std::int64_t i = 0; i < count; ++i)
    dx[i] = inverse * kept(kept(g[i] - mean) - kept(normalised[i] * along));
}

/// Both gradients of norms; `dbias` may be empty, and so may be weight and `dweight`.
template <class Types, Around around, class DY, class X, class W, class G>
void norm_gradient(HostView<const DY> dy, HostView<const X> x, HostView<const W> weight, f32 eps,
                   bool accumulate, HostView<typename Types::result> dx, HostView<G> dweight,
                   HostView<G> dbias) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "Gradients of norms take their operands as given, or widened to f32.");
  const std::int64_t columns = x.columns(), run = weight.data() ? weight.columns() : columns;
  const std::int64_t of_weight = dweight.elements(), of_bias = dbias.elements();
  const WideRows wide = wide_rows(weight);
  const f32* const scales = wide.rows.data();
  const std::int64_t runs_of_row = run ? columns / run : 0, runs = x.rows() * runs_of_row;
  const auto add_run = [&](std::int64_t index, f32* sums) {
    auto* const scratch = reinterpret_cast<f32*>(
        thread_scratch<NormGradientScratch>(static_cast<std::size_t>(5 * run) * sizeof(f32)));
    const auto of_run = [&](const auto& rows) {
      return rows.row(index / runs_of_row)
          .subspan(static_cast<std::size_t>(index % runs_of_row * run), static_cast<std::size_t>(run));
    };
    const std::span<const f32> in = row_in_f32(of_run(x), scratch),
                               in_dy = row_in_f32(of_run(dy), scratch + run);
    f32 *const normalised = scratch + 2 * run, *const g = scratch + 3 * run;
    const std::span<f32> computed = row_to_compute(of_run(dx), scratch + 4 * run);
    const f32* const gradient = in_dy.data();
    const f32 inverse = normalise<Types, around>(in, eps, normalised);
    if (of_weight)
      for (std::int64_t i = 0; i < run; ++i)
        sums[i] = narrow_add<Types>(sums[i], rounded_to<typename Types::inside>(gradient[i] * normalised[i]));
    if (of_bias)
      for (std::int64_t i = 0; i < run; ++i)
        sums[of_weight + i] = narrow_add<Types>(sums[of_weight + i], gradient[i]);
    norm_gradient_of_run<Types, around>(run, gradient, normalised, scales, inverse, g, computed.data());
    store_row<Types::saturate>(std::span<const f32>(computed), of_run(dx));
  };
  const std::int64_t width = of_weight + of_bias;
  const std::int64_t tasks = width
                                 ? ceil_divide(std::min(runs, row_partial_sums), partial_sums_of_task(width))
                                 : ceil_divide(runs, rows_of_task(run));
  scratch_memory<NormGradientScratch>(tasks, 5 * run * std::int64_t{sizeof(f32)});
  const auto add_runs = [&](std::int64_t first, std::int64_t count, f32* sums) {
    for (std::int64_t i = 0; i < count; ++i) add_run(first + i, sums + i * width);
  };
  if (!width)
    return parallel_for_rows(
        runs, run, [&](std::int64_t first, std::int64_t end) { add_runs(first, end - first, nullptr); });
  sum_columns<Types>(runs, width, add_runs, [&](std::int64_t column, f32 total) {
    G& place = column < of_weight ? dweight.data()[column] : dbias.data()[column - of_weight];
    store_gradient<Types::saturate>(place, total, accumulate);
  });
}

}  // namespace detail

/// dx of layer normalisation from dy; and the sums of dy normalised, and of dy, over all rows. Without
/// weight, dweight and dbias where they have no data.
template <class Types, class DY, class X, class W, class G>
void layer_norm_gradient(HostView<const DY> dy, HostView<const X> x, HostView<const W> weight, f32 eps,
                         const GradientOptions& options, HostView<typename Types::result> dx,
                         HostView<G> dweight, HostView<G> dbias) {
  detail::norm_gradient<Types, Around::mean>(dy, x, weight, eps, options.accumulate, dx, dweight, dbias);
}

/// The same of RMS normalisation of each run of `weight.columns()` values of a row.
template <class Types, class DY, class X, class W, class G>
void rms_norm_gradient(HostView<const DY> dy, HostView<const X> x, HostView<const W> weight, f32 eps,
                       const GradientOptions& options, HostView<typename Types::result> dx,
                       HostView<G> dweight) {
  detail::norm_gradient<Types, Around::zero>(dy, x, weight, eps, options.accumulate, dx, dweight,
                                             HostView<G>());
}

}  // namespace precast::host
