// Skinny GEMM: products of a few rows of x. They are memory-bound: each value of the weight is read
// once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/matmul/block_weight.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

/// sums[row][feature] += the products of Rows rows of x with Vectors vectors of features, over `count`
/// columns. Weights are [count][width] in f32, [count / 2][width][2] in bf16, whose count is even.
template <int Rows, int Vectors, OneDnnOperand T>
void add_columns(const T* x, std::int64_t x_stride, const T* weights, std::int64_t width, std::int64_t count,
                 f32* sums) {
  constexpr std::int64_t step = std::is_same_v<T, bf16> ? 2 : 1;
  Lanes partial[Rows][Vectors];
  for (auto& row : partial)
    for (Lanes& sum : row) sum = Lanes::zero();
  for (std::int64_t k = 0; k < count; k += step, weights += step * width)
    for (int v = 0; v < Vectors; ++v)
      if constexpr (step == 2) {
        for (int r = 0; r < Rows; ++r)
          partial[r][v] =
              plus_pair_product(partial[r][v], x + r * x_stride + k, weights + v * Lanes::width * step);
      } else {
        const Lanes weight = Lanes::load(weights + v * Lanes::width);
        for (int r = 0; r < Rows; ++r)
          partial[r][v] = partial[r][v].plus_product(Lanes::broadcast(x[r * x_stride + k]), weight);
      }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) {
      f32* const sum = sums + r * width + v * Lanes::width;
      (Lanes::load(sum) + partial[r][v]).store(sum);
    }
}

}  // namespace detail

/// The most rows that `skinny_gemm` takes.
inline constexpr std::int64_t max_skinny_rows = 4;

namespace detail {

/// Columns whose f32 weights fit the L1 cache. Their sums are added to the total, which is more accurate
/// than one long chain.
inline constexpr std::int64_t skinny_chunk = 64;

/// sums[row][feature] = x[row] . the columns of a panel of `width` features. `columns_at(first, count)` has
/// `count` of them as add_columns takes them, and a zero after the last if that is the first of a pair.
template <OneDnnOperand Multiplied, class ColumnsAt>
void skinny_sums(HostView<const Multiplied> x, std::int64_t width, f32* sums, const ColumnsAt& columns_at) {
  constexpr std::int64_t chunk = skinny_chunk;
  alignas(64) Multiplied rows[max_skinny_rows * chunk];
  std::fill_n(sums, x.rows() * width, 0.0f);
  for (std::int64_t first = 0; first < x.columns(); first += chunk) {
    const std::int64_t count = std::min(chunk, x.columns() - first);
    // A zero follows the last column, which may be the first of a pair.
    std::fill_n(rows, x.rows() * chunk, Multiplied{});
    for (std::int64_t r = 0; r < x.rows(); ++r) std::copy_n(x.row(r).data() + first, count, rows + r * chunk);
    const Multiplied* const columns = columns_at(first, count);
    const auto add = [&]<int Rows>(std::integral_constant<int, Rows>, std::int64_t row) {
      constexpr std::int64_t step = std::is_same_v<Multiplied, bf16> ? 2 : 1;
      const Multiplied* const from = rows + row * chunk;
      f32* const to = sums + row * width;
      constexpr int most = Lanes::columns_at_once;
      std::int64_t f = 0;
      for (; f + most * Lanes::width <= width; f += most * Lanes::width)
        add_columns<Rows, most>(from, chunk, columns + f * step, width, count, to + f);
      for (; f < width; f += Lanes::width)
        add_columns<Rows, 1>(from, chunk, columns + f * step, width, count, to + f);
    };
    std::int64_t row = 0;
    for (; row + 4 <= x.rows(); row += 4) add(std::integral_constant<int, 4>{}, row);
    for (; row + 2 <= x.rows(); row += 2) add(std::integral_constant<int, 2>{}, row);
    for (; row < x.rows(); ++row) add(std::integral_constant<int, 1>{}, row);
  }
}

}  // namespace detail

/// Whether few rows are multiplied by a weight in bf16 pairs, without widening; else in f32.
template <class Types>
inline constexpr bool skinny_in_pairs =
    std::conjunction_v<std::bool_constant<has_bf16_products>, std::is_same<typename Types::operand, bf16>,
                       std::is_same<typename Types::storage, bf16>>;

/// sums[row][feature] = x[row] . weight[feature] for every row of x, of operands, and the features of a
/// panel. x is f32, or bf16 where skinny_in_pairs().
template <class Operand, bool Saturates, OneDnnOperand Multiplied, Dtype Storage>
void skinny_gemm(HostView<const Multiplied> x, const PackedWeight<Storage>& weight, std::int64_t panel,
                 f32* sums) {
  // Columns of blocks that are decoded together: a block of the largest formats.
  constexpr std::int64_t decoded_at_once = 4 * detail::skinny_chunk;
  constexpr bool in_place = are_operands<Operand, Multiplied, Storage>;
  const bool in_blocks = BlockDtype<Storage> || weight.decoder();
  const bool needs_no_conversion = in_place && weight.in_storage();
  alignas(64) Multiplied widened[decoded_at_once * widest_panel];
  const std::int64_t width = weight.panel_width();
  detail::skinny_sums(x, width, sums, [&](std::int64_t first, std::int64_t) -> const Multiplied* {
    const std::int64_t left = weight.padded_columns() - first;
    if (in_blocks) {
      if (first % decoded_at_once == 0)
        decoded_columns<Operand, Saturates>(weight, panel, first, std::min(decoded_at_once, left), widened);
      return widened + first % decoded_at_once * width;
    }
    if constexpr (in_place)
      if (needs_no_conversion) return weight.panel(panel) + first * width;
    if constexpr (ScalarDtype<Storage>)
      operand_columns<Operand, Saturates>(weight, panel, first, std::min(detail::skinny_chunk, left),
                                          widened);
    return widened;
  });
}

/// The same with columns [first, first + width) of a matrix [columns, features] that is not packed.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype B>
void skinny_gemm_of_rows(HostView<const Multiplied> x, HostView<const B> b, std::int64_t first_feature,
                         std::int64_t width, f32* sums) {
  constexpr std::int64_t at_once = std::is_same_v<Multiplied, bf16> ? 2 : 1;
  alignas(64) Multiplied columns[detail::skinny_chunk * widest_panel];
  detail::skinny_sums(x, width, sums, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t k = 0; k < count; k += at_once)
      pack_rows<at_once, Operand, Saturates>(b, first + k, first_feature, width, columns + k * width);
    return columns;
  });
}

namespace detail {

/// sums[feature][row] += the products of some rows of a weight with Rows rows of x, lane by lane, over
/// `count` columns, which fill registers.
template <int Rows, std::size_t Features, OneDnnOperand T>
void add_row_products(const T* x, std::int64_t x_stride, const std::array<const T*, Features>& weights,
                      std::int64_t count, Lanes (&sums)[Features][max_skinny_rows]) {
  constexpr std::int64_t step = std::is_same_v<T, bf16> ? 2 * Lanes::width : Lanes::width;
  Lanes partial[Features][Rows];
  for (auto& of_feature : partial)
    for (Lanes& sum : of_feature) sum = Lanes::zero();
  for (std::int64_t k = 0; k < count; k += step)
    for (std::size_t f = 0; f < Features; ++f)
      for (int r = 0; r < Rows; ++r)
        if constexpr (std::is_same_v<T, bf16>)
          partial[f][r] = plus_pair_products(partial[f][r], x + r * x_stride + k, weights[f] + k);
        else
          partial[f][r] =
              partial[f][r].plus_product(Lanes::load(x + r * x_stride + k), Lanes::load(weights[f] + k));
  for (std::size_t f = 0; f < Features; ++f)
    for (int r = 0; r < Rows; ++r) sums[f][r] = sums[f][r] + partial[f][r];
}

/// Values as operands, with zeros up to `padded` of them: the values themselves where they qualify, else
/// `copy`.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype W>
const Multiplied* padded_operands(std::span<const W> values, std::int64_t padded, Multiplied* copy) {
  if constexpr (are_operands<Operand, Multiplied, W>) {
    if (std::ssize(values) == padded) return values.data();
    std::ranges::copy(values, copy);
  } else {
    operand_row<Operand, Saturates>(values, std::span(copy, values.size()));
  }
  std::fill(copy + values.size(), copy + padded, Multiplied{});
  return copy;
}

}  // namespace detail

/// sums[row][feature] = x[row] . weight[feature] for every row of x, of operands, and at most `width` rows of
/// a matrix [features, columns] that is not packed.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype W>
void skinny_gemm_of_features(HostView<const Multiplied> x, HostView<const W> weight, std::int64_t width,
                             f32* sums) {
  // Columns that are rounded, or do not fill a register, are copied to the L1 cache.
  constexpr std::int64_t chunk = 512,
                         step = std::is_same_v<Multiplied, bf16> ? 2 * Lanes::width : Lanes::width;
  constexpr auto at_once = static_cast<std::size_t>(Lanes::columns_at_once);
  alignas(64) Multiplied x_end[max_skinny_rows * chunk], copies[at_once][chunk];
  const std::int64_t end = x.columns() / chunk * chunk;
  std::fill_n(x_end, max_skinny_rows * chunk, Multiplied{});
  for (std::int64_t r = 0; r < x.rows(); ++r)
    std::copy(x.row(r).begin() + end, x.row(r).end(), x_end + r * chunk);
  for (std::int64_t feature = 0; feature < weight.rows(); feature += Lanes::columns_at_once) {
    Lanes lanes[at_once][max_skinny_rows];
    for (auto& of_feature : lanes) std::fill(std::begin(of_feature), std::end(of_feature), Lanes::zero());
    for (std::int64_t first = 0; first < x.columns(); first += chunk) {
      const std::int64_t count = std::min(chunk, x.columns() - first), padded = rounded_up(count, step);
      std::array<const Multiplied*, at_once> rows;
      for (std::size_t f = 0; f < at_once; ++f) {
        const std::int64_t there = std::min(feature + static_cast<std::int64_t>(f), weight.rows() - 1);
        rows[f] = detail::padded_operands<Operand, Saturates>(
            weight.row(there).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
            padded, copies[f]);
      }
      const Multiplied* const left = first == end ? x_end : x.data() + first;
      const std::int64_t stride = first == end ? chunk : x.row_stride();
      if (x.rows() == 1)
        detail::add_row_products<1>(left, stride, rows, padded, lanes);
      else if (x.rows() == 2)
        detail::add_row_products<2>(left, stride, rows, padded, lanes);
      else if (x.rows() == 3)
        detail::add_row_products<3>(left, stride, rows, padded, lanes);
      else
        detail::add_row_products<4>(left, stride, rows, padded, lanes);
    }
    const std::int64_t count = std::min<std::int64_t>(Lanes::columns_at_once, weight.rows() - feature);
    for (std::int64_t f = 0; f < count; ++f)
      for (std::int64_t r = 0; r < x.rows(); ++r) sums[r * width + feature + f] = sum_of_lanes(lanes[f][r]);
  }
}

}  // namespace precast::host
