// Kernels of rotary embeddings: for neighbouring pairs, and for either layout and direction.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/host/rows/for_each_row.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/position_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// Rotates neighbouring pairs: x [B, S, H * D], cos and sin [S, D].
template <class Types, class From>
void rotary(HostView<const From> x, HostView<const f32> cos, HostView<const f32> sin,
            HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(computes_in_f32<Types>, "Position embeddings are computed in f32.");
  const auto width = static_cast<std::size_t>(cos.columns());
  for_each_row<Types>(x, out, [&](std::int64_t r, std::span<const f32> row, std::span<f32> computed) {
    const f32* c = cos.row(r % cos.rows()).data();
    const f32* s = sin.row(r % sin.rows()).data();
    for (std::size_t head = 0; head < row.size(); head += width) {
      const f32* in = row.data() + head;
      f32* to = computed.data() + head;
      for (std::size_t i = 0; i + 1 < width; i += 2) {
        const f32 a = in[i], b = in[i + 1];
        to[i] = std::fma(a, c[i], -(b * s[i]));
        to[i + 1] = std::fma(b, c[i + 1], a * s[i + 1]);
      }
    }
  });
}

/// Rotates pairs of either layout, forward or inverse.
template <class Types, class From>
void rotate(HostView<const From> x, HostView<const f32> cos, HostView<const f32> sin,
            const Rotation& rotation, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(computes_in_f32<Types>, "Position embeddings are computed in f32.");
  const std::int64_t width = cos.columns(), apart = rotation.apart(width);
  const f32 sign = rotation.inverse ? -1.0f : 1.0f;
  for_each_row<Types>(x, out, [&](std::int64_t r, std::span<const f32> row, std::span<f32> computed) {
    const f32* const c = cos.row(r % cos.rows()).data();
    const f32* const s = sin.row(r % sin.rows()).data();
    for (std::int64_t head = 0; head < static_cast<std::int64_t>(row.size()); head += width) {
      const f32* const in = row.data() + head;
      f32* const to = computed.data() + head;
      for (std::int64_t pair = 0; pair < width / 2; ++pair) {
        const std::int64_t i = rotation.first(pair), j = i + apart;
        const f32 a = in[i], b = in[j], up = sign * s[i], down = sign * s[j];
        to[i] = std::fma(a, c[i], -(b * up));
        to[j] = std::fma(b, c[j], a * down);
      }
    }
  });
}

}  // namespace precast::host
