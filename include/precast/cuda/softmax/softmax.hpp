// Softmax of rows: in f32, or, one block per row, with sums and intermediates narrower than f32.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/rows/narrow_sum.hpp>
#include <precast/cuda/rows/row.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/softmax_kernel.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From, class To>
struct SoftmaxArguments {
  DeviceRows<const From> x;
  DeviceRows<To> out;
  bool aligned;
  std::int64_t rows, columns;
};

// Bytes moved: each value read once and written once, the minimum, up to 8192 columns (f32 result); longer
// rows are read three times, the second and third time from the L2 cache while it holds them.
template <int Tile, int Count, bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    softmax_kernel(SoftmaxArguments<From, To> a) {
  const RowPlace place = row_place<row_tiles[Tile]>();
  const std::int64_t r = place.row;
  const Row<row_tiles[Tile], Count, From> row(a.x.row(r), r < a.rows ? a.columns : 0, place.lane, a.aligned);
  const f32 largest = planted<"largest not subtracted">(row.template largest<struct Largest>(), 0.0f);
  const auto term = [largest](f32 x) { return exponential(x - largest); };
  const f32 inverse = 1.0f / row.template sum<struct Terms>(term);
  row.for_each_run([&](std::int64_t first, int present, const Run<f32, Count>& x) {
    Run<f32, Count> y;
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) y[i] = term(x[i]) * inverse;
    store_rounded<Saturates>(a.out.row(r) + first, y, present, a.aligned);
  });
}

// Bytes moved: each value read three times and written once.
template <class Types, class From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_softmax_kernel(DeviceRows<const From> x, DeviceRows<typename Types::result> out,
                          std::int64_t columns) {
  const std::int64_t row = block_index().x;
  const auto value = [&](std::int64_t i) { return to_f32(x.row(row)[i]); };
  const f32 largest = largest_in_block<narrow_partial_sums, struct NarrowLargest>(columns, value);
  const auto term = [&](std::int64_t i) {
    const f32 difference = value(i) - largest;
    return planted<"inside ignored">(NarrowSoftmax<Types>::term(value(i), largest),
                                     math::exp_of_negative(difference));
  };
  const f32 sum = narrow_block_sum<Types, struct NarrowTerms>(columns, term);
  for (std::int64_t i = thread_index(); i < columns; i += narrow_partial_sums)
    out.row(row)[i] = round_to<typename Types::result, Types::saturate>(
        with_planted_dtype<"result ignored">(term(i) / sum));
}

template <class Types, class From>
void narrow_softmax(DeviceView<const From> x, DeviceView<typename Types::result> out, Stream stream) {
  launch("narrow_softmax", narrow_softmax_kernel<Types, From>,
         {{grid_blocks(x.rows()), 1, 1}, narrow_partial_sums}, stream, DeviceRows<const From>(x),
         DeviceRows<typename Types::result>(out), x.columns());
}

}  // namespace detail

/// The softmax of each row. A row that holds +inf or NaN, or nothing but -inf, gives NaN.
template <class Types, class From>
void softmax(DeviceView<const From> x, DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "softmax takes its operand as given, or widened to f32.");
  if (x.elements() == 0) return;
  if constexpr (is_narrow<Types>) {
    detail::narrow_softmax<Types>(x, out, stream);
  } else {
    using To = typename Types::result;
    constexpr int count = values_at_once<From, To>;
    const detail::SoftmaxArguments<From, To> arguments{
        .x = x,
        .out = out,
        .aligned = rows_are_aligned<count>(x) && rows_are_aligned<count>(out),
        .rows = x.rows(),
        .columns = x.columns()};
    visit_row_tile(x.columns(), count, [&](auto tile) {
      launch("softmax", detail::softmax_kernel<tile, count, Types::saturate, From, To>,
             {blocks_of_rows(row_tiles[tile], x.rows()), row_tiles[tile].threads}, stream, arguments);
    });
  }
}

}  // namespace precast::gpu
