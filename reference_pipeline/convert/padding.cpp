// Zeros are counted in rows as they decode.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <convert/padding.hpp>

namespace precast::conversion {

namespace {

/// Columns at the end of a matrix that are 0 in every row, at most so many.
std::int64_t zero_columns(const weights::WeightTensor& weight, std::int64_t most) {
  const std::int64_t columns = weight.row_values();
  std::vector<f32> row(static_cast<std::size_t>(columns));
  std::int64_t zeros = std::min(most, columns);
  for (std::int64_t r = 0; r < weight.shape[0] && zeros > 0; ++r) {
    weight.decoding->decode(r * columns, row);
    const auto end = std::span(row).last(static_cast<std::size_t>(zeros));
    const auto last = std::find_if(end.rbegin(), end.rend(), [](f32 value) { return value != 0; });
    zeros = last - end.rbegin();
  }
  return zeros;
}

}  // namespace

Padding padding_of(const weights::WeightTensor& weight, const std::set<std::int64_t>& lengths) {
  if (!weight.decoding || weight.decoding->padded_to <= 1 || weight.shape.rank() != 2 ||
      weight.shape.elements() == 0)
    return {};
  const std::int64_t columns = weight.row_values();
  Padding padding{zero_columns(weight, weight.decoding->padded_to - 1), 0};
  // Two lengths that fit say nothing.
  const auto least = lengths.lower_bound(columns - padding.zeros);
  if (padding.zeros == 0 || least == lengths.end() || *least >= columns) return padding;
  const auto next = std::next(least);
  if (next == lengths.end() || *next >= columns) padding.columns = *least;
  return padding;
}

weights::WeightTensor first_columns(const weights::WeightTensor& weight, std::int64_t columns) {
  const auto cut = [decode = weight.decoding->decode, stored = weight.row_values(), columns](
                       std::int64_t first, std::span<f32> values) {
    const std::int64_t rows = std::ssize(values) / columns;
    std::vector<f32> whole(static_cast<std::size_t>(rows * stored));
    decode(first / columns * stored, whole);
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(whole.begin() + r * stored, columns, values.begin() + r * columns);
  };
  return {weight.stored, Shape{weight.shape[0], columns}, weight.format, weight.bytes,
          weights::Decoding{.decode = cut}};
}

}  // namespace precast::conversion
