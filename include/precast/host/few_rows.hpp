// Products of a few rows: as fast as the weights can be read, each of them once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <precast/dtype/scalar.hpp>
#include <precast/host/operands.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

inline constexpr std::int64_t lanes = 16;
using DotLanes = f32 __attribute__((vector_size(lanes * sizeof(f32))));

inline void load(const f32* from, DotLanes& to) { std::memcpy(&to, from, sizeof to); }

/// Adds the dot products of Rows rows of x with four rows of weights, over `count` columns, to
/// sums[row][feature].
template <int Rows>
void add_dots(const f32* x, std::int64_t x_stride, const std::array<const f32*, 4>& weights,
              std::int64_t count, f32* sums, std::int64_t sums_stride) {
  DotLanes partial[Rows][4] = {};
  std::int64_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    DotLanes weight[4], value;
    for (int f = 0; f < 4; ++f) load(weights[f] + k, weight[f]);
    for (int r = 0; r < Rows; ++r) {
      load(x + r * x_stride + k, value);
      for (int f = 0; f < 4; ++f) partial[r][f] += weight[f] * value;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int f = 0; f < 4; ++f) {
      f32 sum = 0;
      for (std::int64_t i = k; i < count; ++i) sum += weights[f][i] * x[r * x_stride + i];
      for (std::int64_t width = lanes / 2; width > 0; width /= 2)
        for (std::int64_t i = 0; i < width; ++i) partial[r][f][i] += partial[r][f][i + width];
      sums[r * sums_stride + f] += partial[r][f][0] + sum;
    }
  }
}

}  // namespace detail

/// The most rows that `few_rows_product` takes; oneDNN overtakes it soon after, in bf16 even before.
inline constexpr std::int64_t most_few_rows = 4, most_few_rows_in_bf16 = 2;

/// sums[r][f] = x[r] . weights[f] for every row of x, f32 operands, and every row of weights in storage.
template <class Operand, bool Saturates, ScalarDtype Storage>
void few_rows_product(View<const f32> x, View<const Storage> weights, f32* sums, std::int64_t sums_stride) {
  constexpr bool in_place = are_operands<Operand, f32, Storage>;
  constexpr std::int64_t chunk = 1024;  // four chunks of weights, in f32, stay in the nearest cache
  alignas(64) f32 widened[in_place ? 1 : 4 * chunk];
  const std::int64_t features = weights.rows(), columns = weights.columns();
  for (std::int64_t r = 0; r < x.rows(); ++r) std::fill_n(sums + r * sums_stride, features, 0.0f);
  for (std::int64_t first = 0; first < features; first += 4) {
    const std::int64_t group = std::min<std::int64_t>(4, features - first);
    f32 group_sums[most_few_rows][4] = {};
    for (std::int64_t k = 0; k < columns; k += chunk) {
      const std::int64_t count = std::min(chunk, columns - k);
      std::array<const f32*, 4> rows{};
      for (std::int64_t f = 0; f < 4; ++f) {
        // A group that is not full repeats its last row, and drops what comes of it.
        const auto stored = weights.row(first + std::min(f, group - 1))
                                .subspan(static_cast<std::size_t>(k), static_cast<std::size_t>(count));
        if constexpr (in_place) {
          rows[static_cast<std::size_t>(f)] = stored.data();
        } else {
          // Rows of the next group are fetched while this one is widened: they lie farther on than memory is
          // read ahead by itself, and loads would wait for them.
          if (first + 4 + f < features) {
            const auto* next = reinterpret_cast<const char*>(stored.data() + 4 * weights.row_stride());
            for (std::size_t i = 0; i < stored.size_bytes(); i += 64) __builtin_prefetch(next + i);
          }
          f32* const wide = widened + f * chunk;
          operand_row<Operand, Saturates>(stored, std::span<f32>(wide, stored.size()));
          rows[static_cast<std::size_t>(f)] = wide;
        }
      }
      const auto add = [&]<int Rows>(std::integral_constant<int, Rows>, std::int64_t row) {
        detail::add_dots<Rows>(x.data() + row * x.row_stride() + k, x.row_stride(), rows, count,
                               group_sums[row], 4);
      };
      std::int64_t row = 0;
      for (; row + 4 <= x.rows(); row += 4) add(std::integral_constant<int, 4>{}, row);
      for (; row + 2 <= x.rows(); row += 2) add(std::integral_constant<int, 2>{}, row);
      for (; row < x.rows(); ++row) add(std::integral_constant<int, 1>{}, row);
    }
    for (std::int64_t r = 0; r < x.rows(); ++r)
      std::copy_n(group_sums[r], group, sums + r * sums_stride + first);
  }
}

}  // namespace precast::host
