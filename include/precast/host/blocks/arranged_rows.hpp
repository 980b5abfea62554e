// Rows of x arranged for products with rows of blocks: operands in the order of the codes in a reader's
// lanes, and the sums that offsets are multiplied by.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/host/blocks/block_readers.hpp>
#include <precast/host/blocks/byte_code_readers.hpp>
#include <precast/host/blocks/code_numbers.hpp>
#include <precast/host/blocks/k_block_readers.hpp>
#include <precast/host/onednn/onednn.hpp>

namespace precast::host::detail {

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// The sums of x that offsets are multiplied by.
template <bool HasOffsets>
struct RunSums {
  alignas(64) std::array<f32, 16> sums;
};
template <>
struct RunSums<false> {};

/// An arranged row of x: for each of a reader's runs of columns, the operands of its steps.
template <class Reader, OneDnnOperand M>
struct ArrangedRun : RunSums<Reader::has_offsets> {
  static constexpr int steps = std::is_same_v<M, f32> ? 4 : 2, in_step = 64 / sizeof(M);
  alignas(64) M operands[Reader::vectors][steps][in_step];

  /// Which column of the run an operand is.
  static constexpr int column(int vector, int step, int i) {
    return std::is_same_v<M, f32> ? Reader::column(vector, 4 * i + step)
                                  : Reader::column(vector, i / 2 * 4 + i % 2 * 2 + step);
  }
};

template <class Reader, OneDnnOperand T>
void arrange_row(std::span<const T> x, std::byte* to) {
  using M = Multiplied<Reader, T>;
  using Run = ArrangedRun<Reader, M>;
  static constexpr auto columns = [] {
    std::array<std::uint16_t, Reader::columns> table{};
    for (int k = 0; k < Reader::columns; ++k)
      table[static_cast<std::size_t>(k)] =
          static_cast<std::uint16_t>(Run::column(k / 64, k % 64 / Run::in_step, k % Run::in_step));
    return table;
  }();
  static constexpr auto of_step = [] {
    std::array<f32, 4> factors{};
    for (int step = 0; step < 4; ++step)
      factors[static_cast<std::size_t>(step)] =
          two_to_minus(power_of_step<Reader, M>(step) - least_power<Reader, M>());
    return factors;
  }();
  auto* run = reinterpret_cast<Run*>(to);
  for (std::size_t first = 0; first < x.size(); first += Reader::columns, ++run) {
    std::array<M, Reader::columns> values{};
    for (std::size_t k = 0; k < std::min<std::size_t>(Reader::columns, x.size() - first); ++k)
      if constexpr (std::is_same_v<M, T>)
        values[k] = x[first + k];
      else
        values[k] = convert_value<M>(x[first + k]);
    M* const operands = &run->operands[0][0][0];
    for (std::size_t k = 0; k < Reader::columns; ++k) {
      operands[k] = values[columns[k]];
      if constexpr (std::is_same_v<M, f32>) operands[k] *= of_step[k / 16 % 4];
    }
    if constexpr (Reader::has_offsets)
      for (int lane = 0; lane < 16; ++lane) {
        const ColumnRun of = Reader::offset_columns(lane);
        f32 sum = 0;
        for (int k = of.first; k < of.first + of.count; ++k)
          sum += convert_value<f32>(values[static_cast<std::size_t>(k)]);
        run->sums[static_cast<std::size_t>(lane)] = sum;
      }
  }
}

#endif

}  // namespace precast::host::detail
