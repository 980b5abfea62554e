// Products of a few rows: as fast as the weight can be read, each value of it once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/lanes.hpp>
#include <precast/host/operands.hpp>
#include <precast/host/packed_weight.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

/// sums[row][feature] += the products of Rows rows of x with Vectors vectors of features, over `count`
/// columns.
template <int Rows, int Vectors>
void add_columns(const f32* x, std::int64_t x_stride, const f32* weights, std::int64_t width,
                 std::int64_t count, f32* sums) {
  std::array<std::array<Lanes, Vectors>, Rows> partial;
  for (auto& row : partial) row.fill(Lanes::zero());
  for (std::int64_t k = 0; k < count; ++k, weights += width)
    for (int v = 0; v < Vectors; ++v) {
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

/// The most rows that `few_rows_product` takes.
inline constexpr std::int64_t most_few_rows = 4;

/// sums[row][feature] = x[row] . weight[feature] for every row of x, f32 operands, and the features of a
/// panel.
template <class Operand, bool Saturates, ScalarDtype Storage>
void few_rows_product(View<const f32> x, const PackedWeight<Storage>& weight, std::int64_t panel, f32* sums) {
  // Columns whose weights, in f32, stay in the nearest cache. Their sums are added to those before: that errs
  // less than one long chain.
  constexpr std::int64_t chunk = 64;
  constexpr bool in_place = are_operands<Operand, f32, Storage>;
  alignas(64) f32 widened[in_place ? 1 : chunk * widest_panel];
  const std::int64_t width = weight.panel_width();
  std::fill_n(sums, x.rows() * width, 0.0f);
  for (std::int64_t first = 0; first < weight.columns(); first += chunk) {
    const std::int64_t count = std::min(chunk, weight.columns() - first);
    const f32* columns = widened;
    if constexpr (in_place)
      columns = weight.panel(panel) + first * width;
    else
      operand_columns<Operand, Saturates>(weight, panel, first,
                                          std::min(chunk, weight.padded_columns() - first), widened);
    const auto add = [&]<int Rows>(std::integral_constant<int, Rows>, std::int64_t row) {
      const f32* const from = x.data() + row * x.row_stride() + first;
      f32* const to = sums + row * width;
      constexpr int most = Lanes::columns_at_once;
      std::int64_t f = 0;
      for (; f + most * Lanes::width <= width; f += most * Lanes::width)
        detail::add_columns<Rows, most>(from, x.row_stride(), columns + f, width, count, to + f);
      for (; f < width; f += Lanes::width)
        detail::add_columns<Rows, 1>(from, x.row_stride(), columns + f, width, count, to + f);
    };
    std::int64_t row = 0;
    for (; row + 4 <= x.rows(); row += 4) add(std::integral_constant<int, 4>{}, row);
    for (; row + 2 <= x.rows(); row += 2) add(std::integral_constant<int, 2>{}, row);
    for (; row < x.rows(); ++row) add(std::integral_constant<int, 1>{}, row);
  }
}

}  // namespace precast::host
