// Normalisation kernels: f32 statistics that stay accurate for any number of values and any mean.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/host/norm/narrow_norm.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/host/rows/moments.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/affine.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

inline Moments moments_of(std::span<const f32> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const auto n = static_cast<f32>(count);
  const f32* x = values.data();
  Moments moments;
  moments.mean = sum_of(count, [x](std::int64_t i) { return x[i]; }) / n;
  const f32 mean = moments.mean;
  moments.rest = sum_of(count, [x, mean](std::int64_t i) { return x[i] - mean; }) / n;
  const f32 rest = moments.rest;
  moments.variance = sum_of(count,
                            [x, mean, rest](std::int64_t i) {
                              const f32 deviation = (x[i] - mean) - rest;
                              return deviation * deviation;
                            }) /
                     n;
  return moments;
}

namespace detail {

/// Rows of parameters as f32, plus `added`: the rows themselves where they need no change.
struct WideRows {
  HostTensor<f32> own;
  HostView<const f32> rows;
  const f32* row(std::int64_t r) const { return rows.data() ? rows.data() + r * rows.row_stride() : nullptr; }
};
template <class W>
WideRows wide_rows(HostView<const W> values, f32 added = 0) {
  if constexpr (std::is_same_v<W, f32>)
    if (added == 0) return {{}, values};
  if (!values.data()) return {};
  WideRows wide{HostTensor<f32>(values.shape()), {}};
  wide.rows = wide.own.view();
  if (DryRun::active()) return wide;
  for (std::int64_t r = 0; r < values.rows(); ++r) convert_row<f32>(values.row(r), wide.own.view().row(r));
  if (added != 0)
    for (f32& value : wide.own.values()) value = added + value;
  return wide;
}

}  // namespace detail

/// Layer normalisation of each row (Ba et al. 2016): (x - mean) / sqrt(variance + eps) * scale + shift.
template <class Types, class From, class W>
void layer_norm(HostView<const From> x, const AffineIn<W, HostSpace>& affine, f32 eps,
                HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "layer_norm takes its operand as given, or widened to f32.");
  if constexpr (is_narrow<Types>) {
    detail::narrow_layer_norm<Types>(x, affine, eps, out);
  } else {
    const detail::WideRows scales = detail::wide_rows(affine.scale, affine.one_plus ? 1.0f : 0.0f),
                           shifts = detail::wide_rows(affine.shift);
    for_each_row<Types>(x, out, [&](std::int64_t r, std::span<const f32> in, std::span<f32> computed) {
      const Moments moments = moments_of(in);
      const f32 inverse = 1.0f / std::sqrt(moments.variance + eps);
      const f32* scale = scales.row(affine.row_for(r));
      const f32* shift = shifts.row(affine.row_for(r));
      const auto normalised = [&](std::size_t i) {
        return ((in[i] - moments.mean) - moments.rest) * inverse;
      };
      if (scale && shift) {
        for (std::size_t i = 0; i < in.size(); ++i) computed[i] = std::fma(normalised(i), scale[i], shift[i]);
      } else if (scale) {
        for (std::size_t i = 0; i < in.size(); ++i) computed[i] = normalised(i) * scale[i];
      } else {
        for (std::size_t i = 0; i < in.size(); ++i) computed[i] = normalised(i);
      }
    });
  }
}

/// Root-mean-square normalisation (Zhang and Sennrich 2019) of each run of `scale.columns()` values of a row:
/// x / sqrt(mean x^2 + eps) * scale.
template <class Types, class From, class W>
void rms_norm(HostView<const From> x, HostView<const W> scale, f32 eps,
              HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "rms_norm takes its operand as given, or widened to f32.");
  if constexpr (is_narrow<Types>) {
    detail::narrow_rms_norm<Types>(x, scale, eps, out);
  } else {
    const auto run = static_cast<std::size_t>(scale.columns());
    const detail::WideRows wide = detail::wide_rows(scale);
    const f32* weight = wide.rows.data();
    for_each_row<Types>(x, out, [&](std::int64_t, std::span<const f32> row, std::span<f32> computed) {
      for (std::size_t first = 0; first < row.size(); first += run) {
        const f32* in = row.data() + first;
        f32* to = computed.data() + first;
        const f32 squares =
            sum_of(static_cast<std::int64_t>(run), [in](std::int64_t i) { return in[i] * in[i]; });
        const f32 inverse = 1.0f / std::sqrt(squares / static_cast<f32>(run) + eps);
        for (std::size_t i = 0; i < run; ++i) to[i] = in[i] * inverse * weight[i];
      }
    });
  }
}

}  // namespace precast::host
