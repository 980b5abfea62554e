// Root-mean-square normalisation of rows and of the heads of queries and keys.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/norm/narrow_norm.hpp>
#include <precast/cuda/rows/row.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/norm_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From, class To, class W>
struct RmsNormArguments {
  DeviceRows<const From> x;
  DeviceRows<To> out;
  GlobalPointer<const W> scale;
  bool aligned;
  std::int64_t rows, width;
  Divisor heads;
  f32 eps;
};

// Bytes moved: each value read once and written once, which is the minimum, up to heads of 8192 values (f32;
// 16384 of 16 bits); longer ones are read twice. Weights come from the nearest cache, which they are small
// enough to stay in while a token's heads are normalised.
template <int Tile, int Count, bool Saturates, class From, class To, class W>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    rms_norm_kernel(RmsNormArguments<From, To, W> a) {
  const RowPlace place = row_place<row_tiles[Tile]>();  // a row here is a head
  const bool exists = place.row < a.rows * a.heads.value();
  const DividedIndex head = a.heads.divide(place.row);
  const std::int64_t r = head.quotient;
  const std::int64_t offset = planted<"first head for all">(head.rest, std::int64_t{0}) * a.width;
  const Row<row_tiles[Tile], Count, From> row(a.x.row(r) + offset, exists ? a.width : 0, place.lane,
                                              a.aligned);
  const f32 squares = row.template sum<struct Squares>([](f32 x) { return x * x; });
  const f32 inverse = 1.0f / square_root(squares / static_cast<f32>(a.width) + a.eps);
  row.for_each_run([&](std::int64_t first, int present, const Run<f32, Count>& x) {
    const auto scale = load_f32<Count>(a.scale + first, present, a.aligned);
    Run<f32, Count> y;
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) y[i] = x[i] * inverse * scale[i];
    store_rounded<Saturates>(a.out.row(r) + offset + first, y, present, a.aligned);
  });
}

}  // namespace detail

/// Root-mean-square normalisation (Zhang and Sennrich 2019) of each run of `scale.columns()` values of a row:
/// x / sqrt(mean x^2 + eps) * scale.
template <class Types, class From, class W>
void rms_norm(DeviceView<const From> x, DeviceView<const W> scale, f32 eps,
              DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "rms_norm takes its operand as given, or widened to f32.");
  if constexpr (is_narrow<Types>) {
    if (x.elements() == 0) return;
    detail::narrow_norm<Types, Around::zero>(
        "narrow_rms_norm", x, AffineIn<W, DeviceSpace>{scale, {}},
        detail::NarrowSets{.columns_have_parameters = false, .across = x.columns() / scale.columns()}, eps,
        out, stream);
  } else {
    using To = typename Types::result;
    constexpr int count = values_at_once<From, To>, of_scale = min_of(count, widest_vector<W>);
    if (x.elements() == 0) return;
    const std::int64_t width = scale.columns(), heads = x.columns() / width;
    const bool aligned = rows_are_aligned<count>(x) && rows_are_aligned<count>(out) &&
                         (heads == 1 || width % count == 0) && rows_are_aligned<of_scale>(scale);
    const detail::RmsNormArguments<From, To, W> arguments{.x = x,
                                                          .out = out,
                                                          .scale = pointer_to(scale),
                                                          .aligned = aligned,
                                                          .rows = x.rows(),
                                                          .width = width,
                                                          .heads = heads,
                                                          .eps = eps};
    visit_row_tile(width, count, [&](auto tile) {
      launch("rms_norm", detail::rms_norm_kernel<tile, count, Types::saturate, From, To, W>,
             {blocks_of_rows(row_tiles[tile], x.rows() * heads), row_tiles[tile].threads}, stream, arguments);
    });
  }
}

}  // namespace precast::gpu
