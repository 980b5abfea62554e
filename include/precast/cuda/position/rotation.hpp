// Rotary embeddings of either layout, and their inverse.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/math.hpp>
#include <precast/problem/position_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From, class To>
struct RotationArguments {
  DeviceRows<const From> x;
  DeviceRows<To> out;
  DeviceRows<const f32> cos, sin;
  std::int64_t pairs, width;  ///< `pairs` of all rows
  Divisor pairs_of_head, heads, tokens;
  Rotation rotation;
};

inline constexpr int rotation_threads = 256;

// Bytes moved: each value read once and written once, the minimum; neighbouring lanes read neighbours in
// each half. A token's cosines and sines come from the nearest cache for all heads but its first.
template <bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(rotation_threads, 1) rotate_kernel(RotationArguments<From, To> a) {
  const std::int64_t index = std::int64_t{block_index().x} * rotation_threads + thread_index();
  if (index >= a.pairs) return;
  const auto [head_of_row, pair] = a.pairs_of_head.divide(index);
  const auto [row, head] = a.heads.divide(head_of_row);
  const std::int64_t token = planted<"position of the row">(a.tokens.divide(row).rest, std::int64_t{0});
  const std::int64_t first = a.rotation.first(pair), second = first + a.rotation.apart(a.width);
  const GlobalPointer<const From> in = a.x.row(row) + head * a.width;
  const GlobalPointer<To> to = a.out.row(row) + head * a.width;
  const GlobalPointer<const f32> cos = a.cos.row(token), sin = a.sin.row(token);
  const f32 sign = planted<"never turned back">(a.rotation.inverse, false) ? -1.0f : 1.0f;
  const f32 u = to_f32(in[first]), v = to_f32(in[second]);
  const f32 up = sign * sin[first], down = sign * sin[second], c = cos[first], d = cos[second];
  to[first] = round_to<To, Saturates>(multiply_then_add(u, c, -math::rounded_product(v, up)));
  to[second] = round_to<To, Saturates>(multiply_then_add(v, d, math::rounded_product(u, down)));
}

}  // namespace detail

/// Rotates pairs: x [B, S, H * D], cos and sin [S, D].
template <class Types, class From>
void rotate(DeviceView<const From> x, DeviceView<const f32> cos, DeviceView<const f32> sin,
            const Rotation& rotation, DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(computes_in_f32<Types>, "Position embeddings are computed in f32.");
  using To = typename Types::result;
  if (out.elements() == 0) return;
  const std::int64_t width = cos.columns(), heads = x.columns() / width, pairs = x.elements() / 2;
  launch("rotate", detail::rotate_kernel<Types::saturate, From, To>,
         {{grid_blocks(ceil_divide(pairs, detail::rotation_threads)), 1, 1}, detail::rotation_threads},
         stream,
         detail::RotationArguments<From, To>{.x = x,
                                             .out = out,
                                             .cos = cos,
                                             .sin = sin,
                                             .pairs = pairs,
                                             .width = width,
                                             .pairs_of_head = width / 2,
                                             .heads = heads,
                                             .tokens = cos.rows(),
                                             .rotation = rotation});
}

}  // namespace precast::gpu
