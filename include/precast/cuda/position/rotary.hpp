// Rotary embeddings.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/position/rotate.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/position_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From>
struct RotaryInput {
  MapInput<From> x;
  DeviceRows<const f32> cos, sin;
  std::int64_t width;
  Divisor heads, tokens;
};

// Bytes moved: each value read once and written once, the minimum; a token's cosines and sines come from the
// nearest cache for all heads but its first. Rows of the map are (row, head) pairs: a run never leaves a
// head.
template <int Count, bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    rotary_kernel(MapOutput<To> out, RotaryInput<From> in) {
  const MapPlace<Count> place = map_place<Count>(out);
  const auto [row, head] = in.heads.divide(place.row);
  const std::int64_t token = in.tokens.divide(row).rest;
  const auto loads =
      runs_of_row<Count, const From>(in.x.data + in.x.row_offset(row) + head * in.width, place);
  const auto cosines = runs_of_row<Count, const f32>(in.cos.row(token), place);
  const auto sines = runs_of_row<Count, const f32>(in.sin.row(token), place);
  PRECAST_UNROLL
  for (int run = 0; run < map_tile.runs; ++run) {
    const int present = place.present(run);
    if (present == 0) continue;
    auto x = in_f32(loads.runs[run]);
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i)
      x[i] = planted<"operand rounded to the result">(x[i], rounded<To, Saturates>(x[i]));
    store_rounded<Saturates>(out.data + row * out.row_stride + head * in.width + place.column(run),
                             rotated(x, cosines.runs[run], sines.runs[run]), present, place.aligned);
  }
}

}  // namespace detail

/// Rotates pairs: x [B, S, H * D], cos and sin [S, D], D even.
template <class Types, class From>
void rotary(DeviceView<const From> x, DeviceView<const f32> cos, DeviceView<const f32> sin,
            DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(computes_in_f32<Types>, "Position embeddings are computed in f32.");
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>, of_table = min_of(count, 4);
  if (x.elements() == 0) return;
  const std::int64_t width = cos.columns(), heads = x.columns() / width;
  const bool aligned = rows_are_aligned<count>(x) && rows_are_aligned<count>(out) &&
                       (heads == 1 || width % count == 0) && rows_are_aligned<of_table>(cos) &&
                       rows_are_aligned<of_table>(sin);
  const detail::MapOutput<To> output{
      pointer_to(out), out.row_stride(), x.rows() * heads, width, plan_map(x.rows() * heads, width, count),
      aligned};
  const detail::RotaryInput<From> input{.x = detail::map_input(x),
                                        .cos = cos,
                                        .sin = sin,
                                        .width = width,
                                        .heads = heads,
                                        .tokens = cos.rows()};
  launch("rotary", detail::rotary_kernel<count, Types::saturate, From, To>,
         {{grid_blocks(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output, input);
}

}  // namespace precast::gpu
