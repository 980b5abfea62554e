// The mean squared error of two arrays.
#pragma once

#include <cstdint>
#include <utility>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/reduction/counted_values.hpp>
#include <precast/cuda/reduction/sum_rows.hpp>
#include <precast/cuda/rows/narrow_sum.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/problem/reduction_steps.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class X, class Y>
struct SquaredErrorArguments {
  DeviceRows<const X> x;
  DeviceRows<const Y> y;
  bool aligned;
  RowPieces cut;
  GlobalPointer<f32> sums;
};

// Bytes moved: each value of both read once, the minimum, and 4 written for a piece of 512 runs of 16 bytes.
template <int Tile, int Count, class X, class Y>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    squared_error_kernel(SquaredErrorArguments<X, Y> a) {
  constexpr RowTile tile = row_tiles[Tile];
  const RowPlace place = row_place<tile>();
  const PiecePlace piece = piece_place(a.cut, place);
  const Row<tile, Count, X> row(a.x.row(piece.row) + piece.first, piece.columns, place.lane, a.aligned);
  const GlobalPointer<const Y> others =
      a.y.row(planted<"first row for all">(piece.row, std::int64_t{0})) + piece.first;
  f32 sum = 0;
  row.for_each_run([&](std::int64_t first, int present, const Run<f32, Count>& x) {
    const auto y = load_f32<Count>(others + first, present, a.aligned);
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i)
      if (i < present) sum += squared_difference<f32>(x[i], y[i]);
  });
  if constexpr (tile.lanes <= threads_per_warp)
    sum = warp_sum<tile.lanes>(sum);
  else
    sum = block_sum<tile.lanes, struct SquaredErrors>(sum);
  if (piece.exists && place.lane == 0) a.sums[place.row] = sum;
}

// Bytes moved: each value of both read once, the minimum. One block, in one order of additions: slow.
template <class Types, class X, class Y>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_squared_error_kernel(CountedValues<X> x, CountedValues<Y> y, std::int64_t count,
                                GlobalPointer<typename Types::result> out) {
  const f32 sum = narrow_block_sum<Types, struct NarrowSquaredErrors>(count, [&](std::int64_t i) {
    const f32 difference = x[i] - y[i];
    return planted<"inside ignored">(squared_difference<typename Types::inside>(x[i], y[i]),
                                     difference * difference);
  });
  const auto n = static_cast<f32>(count);
  if (thread_index() == 0)
    *out = round_to<typename Types::result, Types::saturate>(with_planted_dtype<"result ignored">(
        planted<"mean's inside ignored">(mean_of_sum<typename Types::inside>(sum, n), sum / n)));
}

}  // namespace detail

/// The mean of (x - y)^2 over all values, to the single element of `out`. Without values: NaN.
template <class Types, class X, class Y>
void mean_squared_error(DeviceView<const X> x, DeviceView<const Y> y, DeviceView<typename Types::result> out,
                        Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "mean_squared_error takes its operands as given, or widened to f32.");
  const std::int64_t values = x.elements();
  if constexpr (is_narrow<Types>) {
    launch("narrow_squared_error", detail::narrow_squared_error_kernel<Types, X, Y>,
           {{1, 1, 1}, narrow_partial_sums}, stream, detail::counted_values(x), detail::counted_values(y),
           values, pointer_to(out));
  } else {
    constexpr int count = values_at_once<X, Y>;
    const bool whole = x.contiguous() && y.contiguous();
    const auto a = whole ? x.reshaped(Shape{1, values}) : x;
    const auto b = whole ? y.reshaped(Shape{1, values}) : y;
    const auto cut = detail::RowPieces::of(whole ? 1 : a.rows(), a.columns(), count);
    const StreamScope scope(stream);  // of the sums of pieces
    Tensor<f32, Memory> sums(Shape{cut.count()});
    const detail::SquaredErrorArguments<X, Y> arguments{
        .x = a,
        .y = b,
        .aligned = rows_are_aligned<count>(a) && rows_are_aligned<count>(b),
        .cut = cut,
        .sums = pointer_to(sums.view())};
    detail::for_tile_of_pieces(cut, count, [&](auto tile, const LaunchShape& shape) {
      launch("squared_error", detail::squared_error_kernel<tile, count, X, Y>, shape, stream, arguments);
    });
    detail::sum_all<Types::saturate>(std::as_const(sums).view(), static_cast<f32>(values), out, stream);
  }
}

}  // namespace precast::gpu
