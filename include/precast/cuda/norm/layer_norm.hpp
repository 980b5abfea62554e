// Layer normalisation, with a scale and a shift (those of adaptive norms too) fused into its store.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/norm/narrow_norm.hpp>
#include <precast/cuda/norm/norm_arguments.hpp>
#include <precast/cuda/rows/row.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/norm_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From, class To, class W>
struct LayerNormArguments : NormArguments<From, To, W> {
  bool aligned;
  std::int64_t rows, columns;
};

// Bytes moved: each value read once and written once, which is the minimum, up to 8192 columns (f32; 16384 of
// 16 bits); longer rows are read four times, from the L2 cache while it holds them. Scale and shift
// come from memory once and from the nearest cache after that, since a multiprocessor's blocks all want the
// same.
template <int Tile, int Count, bool Saturates, class From, class To, class W>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    layer_norm_kernel(LayerNormArguments<From, To, W> a) {
  const RowPlace place = row_place<row_tiles[Tile]>();
  const std::int64_t r = place.row;
  const bool exists = r < a.rows;
  const Row<row_tiles[Tile], Count, From> row(a.x.row(r), exists ? a.columns : 0, place.lane, a.aligned);
  const auto n = static_cast<f32>(a.columns);
  // The mean is mean + rest: rounded to f32 alone it would shift every deviation from a large mean.
  const f32 mean = row.template sum<struct Mean>([](f32 x) { return x; }) / n;
  const f32 deviation_of_mean = row.template sum<struct Rest>([mean](f32 x) { return x - mean; }) / n;
  const f32 rest = planted<"mean rounded to f32">(deviation_of_mean, 0.0f);
  const f32 variance = row.template sum<struct Variance>([mean, rest](f32 x) {
    const f32 deviation = (x - mean) - rest;
    return deviation * deviation;
  }) / n;
  const f32 inverse = 1.0f / square_root(variance + a.eps);
  const std::int64_t parameters =
      a.rows_per_batch.value()
          ? planted<"modulation of another sample">(a.rows_per_batch.divide(r).quotient, std::int64_t{0})
          : 0;
  row.for_each_run([&](std::int64_t first, int present, const Run<f32, Count>& x) {
    Run<f32, Count> y;
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) y[i] = ((x[i] - mean) - rest) * inverse;
    if (a.scales) {
      auto scale = load_f32<Count>(a.scale.row(parameters) + first, present, a.aligned);
      if (a.one_plus) {
        PRECAST_UNROLL
        for (int i = 0; i < Count; ++i) scale[i] = 1.0f + scale[i];
      }
      if (a.shifts) {
        const auto shift = load_f32<Count>(a.shift.row(parameters) + first, present, a.aligned);
        PRECAST_UNROLL
        for (int i = 0; i < Count; ++i) y[i] = multiply_then_add(y[i], scale[i], shift[i]);
      } else {
        PRECAST_UNROLL
        for (int i = 0; i < Count; ++i) y[i] *= scale[i];
      }
    }
    store_rounded<Saturates>(a.out.row(r) + first, y, present, a.aligned);
  });
}

}  // namespace detail

/// Layer normalisation of each row (Ba et al. 2016): (x - mean) / sqrt(variance + eps) * scale + shift.
template <class Types, class From, class W>
void layer_norm(DeviceView<const From> x, const AffineIn<W, DeviceSpace>& affine, f32 eps,
                DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "layer_norm takes its operand as given, or widened to f32.");
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>;
  if (x.elements() == 0) return;
  if constexpr (is_narrow<Types>) {
    detail::narrow_norm<Types, Around::mean>("narrow_layer_norm", x, affine, {}, eps, out, stream);
  } else {
    const bool aligned = rows_are_aligned<count>(x) && rows_are_aligned<count>(out) &&
                         rows_are_aligned<min_of(count, widest_vector<W>)>(affine.scale) &&
                         rows_are_aligned<min_of(count, widest_vector<W>)>(affine.shift);
    const detail::LayerNormArguments<From, To, W> arguments{detail::norm_arguments(x, affine, eps, out),
                                                            aligned, x.rows(), x.columns()};
    visit_row_tile(x.columns(), count, [&](auto tile) {
      launch("layer_norm", detail::layer_norm_kernel<tile, count, Types::saturate, From, To, W>,
             {blocks_of_rows(row_tiles[tile], x.rows()), row_tiles[tile].threads}, stream, arguments);
    });
  }
}

}  // namespace precast::gpu
