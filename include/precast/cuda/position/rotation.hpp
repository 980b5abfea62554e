// Rotary embeddings of either layout, and turned back.
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
  GlobalPointer<const From> x;
  GlobalPointer<To> out;
  GlobalPointer<const f32> cos, sin;
  std::int64_t x_stride, out_stride, cos_stride, sin_stride;
  std::int64_t pairs, width;  ///< `pairs` of all rows
  Divisor pairs_of_head, heads, tokens;
  Rotation rotation;
};

inline constexpr int rotation_threads = 256;

// Bytes moved: each value read once and written once, the minimum; neighbours of halves by neighbouring
// lanes. A token's cosines and sines come from the nearest cache for all heads but its first.
template <bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(rotation_threads, 1) rotate_kernel(RotationArguments<From, To> a) {
  const std::int64_t index = std::int64_t{block_index().x} * rotation_threads + thread_index();
  if (index >= a.pairs) return;
  const auto [head_of_row, pair] = a.pairs_of_head.divide(index);
  const auto [row, head] = a.heads.divide(head_of_row);
  const std::int64_t token = planted<"position of the row">(a.tokens.divide(row).rest, std::int64_t{0});
  const std::int64_t first = a.rotation.first(pair), second = first + a.rotation.apart(a.width);
  const std::int64_t in = row * a.x_stride + head * a.width, to = row * a.out_stride + head * a.width;
  const f32 sign = planted<"never turned back">(a.rotation.inverse, false) ? -1.0f : 1.0f;
  const f32 u = to_f32(a.x[in + first]), v = to_f32(a.x[in + second]);
  const f32 up = sign * a.sin[token * a.sin_stride + first],
            down = sign * a.sin[token * a.sin_stride + second];
  const f32 c = a.cos[token * a.cos_stride + first], d = a.cos[token * a.cos_stride + second];
  a.out[to + first] = round_to<To, Saturates>(multiply_then_add(u, c, -math::rounded_product(v, up)));
  a.out[to + second] = round_to<To, Saturates>(multiply_then_add(v, d, math::rounded_product(u, down)));
}

}  // namespace detail

/// Turns pairs: x [B, S, H * D], cos and sin [S, D].
template <class Types, class From>
void rotate(DeviceView<const From> x, DeviceView<const f32> cos, DeviceView<const f32> sin,
            const Rotation& rotation, DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(computes_in_f32<Types>, "Position embeddings are computed in f32.");
  using To = typename Types::result;
  if (out.elements() == 0) return;
  const std::int64_t width = cos.columns(), heads = x.columns() / width, pairs = x.elements() / 2;
  launch(
      "rotate", detail::rotate_kernel<Types::saturate, From, To>,
      {{grid_blocks(ceil_divide(pairs, detail::rotation_threads)), 1, 1}, detail::rotation_threads}, stream,
      detail::RotationArguments<From, To>{
          pointer_to(x), pointer_to(out), pointer_to(cos), pointer_to(sin), x.row_stride(), out.row_stride(),
          cos.row_stride(), sin.row_stride(), pairs, width, width / 2, heads, cos.rows(), rotation});
}

}  // namespace precast::gpu
