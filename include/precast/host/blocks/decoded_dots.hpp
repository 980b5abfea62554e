// Products of a few rows of x with rows of blocks whose values are multiplied as they are decoded, without a
// store: BlockGemv of formats whose codes this CPU's vectors do not take apart as they lie
// (host/blocks/block_dots.hpp), in f32.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/blocks/block_decoding.hpp>
#include <precast/host/blocks/block_gemv.hpp>
#include <precast/host/blocks/decode_steps.hpp>
#include <precast/host/blocks/scaled_rows.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::host::detail {

/// Whether values of a format come in vectors.
template <class Format>
concept DecodedInVectors = DecodedInSteps<Format> || ScaledRowDtype<Format>;

/// Sums of Rows rows of x. No more for a row: decoding takes longer than the latency of an addition.
template <int Rows>
using DotSums = Lanes[Rows][16 / Lanes::width];

/// A Sink that multiplies values with `Rows` rows of x, `stride` apart, and adds up the products.
template <int Rows>
struct DotSink {
  const f32* x;
  std::int64_t stride;
  DotSums<Rows>& sums;

  [[gnu::always_inline]] DotSink behind(std::int64_t values) const { return {x + values, stride, sums}; }
  [[gnu::always_inline]] void put(int sixteenth, const Floats16& values) const {
#pragma GCC unroll 4
    for (int part = 0; part < 16 / Lanes::width; ++part) {
      const Lanes some = lanes_of(values, part);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
        sums[r][part] = sums[r][part].plus_product(
            some, Lanes::load(x + r * stride + 16 * sixteenth + part * Lanes::width));
    }
  }
};

/// One row of a format with Rows rows of x: sums[r * stride].
template <class Format, int Rows>
void dot_row(const std::byte* row, std::int64_t columns, const f32* x, std::int64_t x_stride, f32* sums,
             std::int64_t stride) {
  DotSums<Rows> of_lanes;
  for (auto& of_row : of_lanes)
    for (Lanes& sum : of_row) sum = Lanes::zero();
  std::int64_t k = 0;
  const auto sink = [&] { return DotSink<Rows>{x + k, x_stride, of_lanes}; };
  if constexpr (ScaledRowDtype<Format>) {
    const auto& codes = *reinterpret_cast<const Format*>(row);
    for (; columns - k >= 64; k += 64) {
      __builtin_prefetch(row + k + block_bytes_ahead);
      decode_scaled_sixteenths(codes, k, 4, sink());
    }
    const std::int64_t left = (columns - k) / 16;
    decode_scaled_sixteenths(codes, k, left, sink());
    k += 16 * left;
  } else {
    constexpr std::int64_t in_block = dtype_traits<Format>::values_per_block;
    for (const auto* block = reinterpret_cast<const Format*>(row); columns - k >= in_block;
         ++block, k += in_block) {
      for (std::size_t byte = 0; byte < sizeof(Format); byte += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(block) + block_bytes_ahead + byte);
      decode_whole_block(*block, sink());
    }
  }
  if (k < columns) {
    alignas(64) f32 values[256] = {};
    static_assert(ScaledRowDtype<Format> || dtype_traits<Format>::values_per_block <= 256);
    if constexpr (ScaledRowDtype<Format>)
      decode_scaled_rows<Format>({row, 0}, 1, k, columns - k, values, 0);
    else
      decode_rows<Format>({row, 0}, 1, k, columns - k, values, 0);
    for (std::int64_t at = 0; k < columns; k += 16, at += 16) {
      sink().put(0, loaded_floats(values + at));
    }
  }
  for (int r = 0; r < Rows; ++r) {
    Lanes total = of_lanes[r][0];
    for (int part = 1; part < 16 / Lanes::width; ++part) total = total + of_lanes[r][part];
    sums[r * stride] = sum_of_lanes(total);
  }
}

template <class Format>
void multiply_decoded(const BlockRows& weight, std::int64_t features, std::int64_t columns,
                      const std::byte* x, std::int64_t rows, f32* sums, std::int64_t stride) {
  const auto* const values = reinterpret_cast<const f32*>(x);
  const std::int64_t x_stride = rounded_up(columns, 16);
  with_arranged_rows(rows, [&]<int Rows>(std::integral_constant<int, Rows>) {
    for (std::int64_t f = 0; f < features; ++f)
      dot_row<Format, Rows>(weight.from_row(f).first, columns, values, x_stride, sums + f, stride);
  });
}

/// The functions of a format: a row of x is followed by zeros to a whole vector.
template <DecodedInVectors Format>
BlockGemv<f32> decoded_gemv() {
  return {[](std::int64_t columns) { return rounded_up(columns, 16) * std::int64_t{sizeof(f32)}; },
          [](std::span<const f32> x, std::byte* to) {
            auto* const row = reinterpret_cast<f32*>(to);
            std::fill(std::copy(x.begin(), x.end(), row), row + rounded_up(std::ssize(x), 16), 0.0f);
          },
          &multiply_decoded<Format>};
}

}  // namespace precast::host::detail
