// The definitions behind BlockGemv: dot products of rows of x with rows of blocks.
//
// A value of the weight is code * scale + offset. Codes are integers that every operand of 8 significant bits
// holds; the sum of x times a few of them is multiplied by the scale of their group, in f32, and the offset
// by the sum of x over its group. Nothing of the weight is rounded to operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/host/blocks/arranged_rows.hpp>
#include <precast/host/blocks/block_gemv.hpp>
#include <precast/host/blocks/code_numbers.hpp>
#include <precast/host/blocks/decoded_dots.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/policy/quant_formats.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::host {

namespace detail {

/// The functions of a format with its Reader; empty without vectors of 64 bytes.
template <class Reader, OneDnnOperand T>
BlockGemv<T> codes_gemv();

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// sum + a b: of f32, or of pairs of bf16.
template <OneDnnOperand M>
[[gnu::always_inline]] inline __m512 plus_products(__m512 sum, __m512i a, const M* b) {
  if constexpr (std::is_same_v<M, f32>) {
    return _mm512_fmadd_ps(same_bits_as<__m512>(a), _mm512_loadu_ps(b), sum);
  } else {
#if defined(__AVX512BF16__)
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a),
                            reinterpret_cast<__m512bh>(_mm512_loadu_si512(b)));
#else
    return sum;
#endif
  }
}

/// The first products of a sum. Of f32 a sum of nothing is -0 where plus_products makes it 0; no total shows
/// that.
template <OneDnnOperand M>
[[gnu::always_inline]] inline __m512 first_products(__m512i a, const M* b) {
  if constexpr (std::is_same_v<M, f32>)
    return same_bits_as<__m512>(a) * _mm512_loadu_ps(b);
  else
    return plus_products<M>(_mm512_setzero_ps(), a, b);
}

/// Bytes before the blocks of a row.
template <class Reader>
constexpr std::int64_t head_bytes_of() {
  if constexpr (requires { Reader::head_bytes; })
    return Reader::head_bytes;
  else
    return 0;
}

/// A row of blocks, whose scales are multiplied by `factor`, with Rows rows of x: sums[r * stride]. Runs of
/// columns from `whole_runs` on, if there are any, are one, which lies in `rest`.
template <class Reader, OneDnnOperand M, int Rows>
[[gnu::always_inline]] inline void multiply_row(const std::byte* row, const std::byte* rest, f32 factor,
                                                std::int64_t whole_runs, std::int64_t runs,
                                                const std::byte* x, std::int64_t row_bytes, f32* sums,
                                                std::int64_t stride) {
  using Run = ArrangedRun<Reader, M>;
  // The codes of a run are taken apart while those before it are multiplied, where registers hold both: the
  // CPU by itself does not look that far ahead.
  constexpr bool reads_ahead = Rows * Reader::vectors <= 8;
  CodeLanes<Reader::vectors> lanes{}, next{};
  const auto read = [&](std::int64_t run, const std::byte* from, CodeLanes<Reader::vectors>& to) {
    Reader::read(run < whole_runs ? from : rest, factor, to);
  };
  if constexpr (reads_ahead) read(0, row, next);
  __m512 totals[Rows][2], of_offsets[Rows];
  for (int r = 0; r < Rows; ++r) totals[r][0] = totals[r][1] = of_offsets[r] = _mm512_setzero_ps();
  for (std::int64_t run = 0; run < runs; ++run, row += Reader::bytes) {
    for (int byte = 0; byte < Reader::bytes; byte += 64) __builtin_prefetch(row + block_bytes_ahead + byte);
    if constexpr (reads_ahead) {
      lanes = next;
      read(run + 1, row + Reader::bytes, next);
    } else {
      read(run, row, lanes);
    }
    const auto x_of = [&](int r) -> const Run& {
      return reinterpret_cast<const Run*>(x + r * row_bytes)[run];
    };
#pragma GCC unroll 4
    for (int vector = 0; vector < Reader::vectors; ++vector) {
      __m512i numbers[Run::steps];
#pragma GCC unroll 4
      for (int step = 0; step < Run::steps; ++step)
        numbers[step] = numbers_of<Reader, M>(lanes.codes[vector], step);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        __m512 sum = first_products<M>(numbers[0], x_of(r).operands[vector][0]);
#pragma GCC unroll 4
        for (int step = 1; step < Run::steps; ++step)
          sum = plus_products<M>(sum, numbers[step], x_of(r).operands[vector][step]);
        __m512& total = totals[r][vector % 2];
        total = _mm512_fmadd_ps(sum, same_bits_as<__m512>(lanes.scales[vector]), total);
      }
    }
    if constexpr (Reader::has_offsets)
      for (int r = 0; r < Rows; ++r)
        of_offsets[r] = _mm512_fmadd_ps(_mm512_load_ps(x_of(r).sums.data()),
                                        same_bits_as<__m512>(lanes.offsets), of_offsets[r]);
  }
  for (int r = 0; r < Rows; ++r)
    sums[r * stride] = sum_of_lanes(same_bits_as<Floats16>(totals[r][0] + totals[r][1] + of_offsets[r]));
}

template <class Reader, OneDnnOperand M>
void multiply_blocks(const BlockRows& weight, std::int64_t features, std::int64_t columns, const std::byte* x,
                     std::int64_t rows, f32* sums, std::int64_t stride) {
  constexpr std::int64_t head = head_bytes_of<Reader>();
  constexpr f32 power = two_to_minus(least_power<Reader, M>());
  const std::int64_t runs = ceil_divide(columns, std::int64_t{Reader::columns}),
                     block_bytes = weight.bytes_per_row - head, whole_runs = block_bytes / Reader::bytes,
                     row_bytes = runs * std::int64_t{sizeof(ArrangedRun<Reader, M>)};
  // What does not fill a run is followed by zeros: scales of 0.
  alignas(64) std::byte rest[Reader::bytes] = {};
  with_arranged_rows(rows, [&]<int Rows>(std::integral_constant<int, Rows>) {
    for (std::int64_t f = 0; f < features; ++f) {
      const std::byte* const row = weight.from_row(f).first + head;
      f32 factor = power;
      if constexpr (head > 0)
        factor *= precast::detail::scale_of_row(reinterpret_cast<const std::uint8_t*>(row - head));
      if (whole_runs < runs)
        std::memcpy(rest, row + whole_runs * Reader::bytes,
                    static_cast<std::size_t>(block_bytes - whole_runs * Reader::bytes));
      multiply_row<Reader, M, Rows>(row, rest, factor, whole_runs, runs, x, row_bytes, sums + f, stride);
    }
  });
}

template <class Reader, OneDnnOperand T>
BlockGemv<T> codes_gemv() {
  using M = Multiplied<Reader, T>;
  return {[](std::int64_t columns) {
            return ceil_divide(columns, std::int64_t{Reader::columns}) *
                   std::int64_t{sizeof(ArrangedRun<Reader, M>)};
          },
          &arrange_row<Reader, T>, &multiply_blocks<Reader, M>};
}

#endif

}  // namespace detail

template <OneDnnOperand T>
BlockGemv<T> block_gemv_for(std::string_view format) {
  BlockGemv<T> found;
  const auto find = [&]<class Format>(std::type_identity<Format>) {
    if constexpr (block_format_compiled(dtype_traits<Format>::name)) {
      using Reader = typename detail::ReaderFor<Format>::type;
      if constexpr (Reader::exists && (std::is_same_v<T, f32> || has_bf16_products))
        found = detail::codes_gemv<Reader, T>();
      else if constexpr (std::is_same_v<T, f32> && detail::DecodedInVectors<Format>)
        found = detail::decoded_gemv<Format>();
    }
  };
  if (!visit_block_format(format, find)) visit_scaled_row_dtype(format, find);
  return found;
}

}  // namespace precast::host
