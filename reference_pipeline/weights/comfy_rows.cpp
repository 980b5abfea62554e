// Rows of fp8 and int8 under scales, as ComfyUI stores them, and rotated ones.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include <weights/comfy_formats.hpp>
#include <weights/comfy_parts.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/policy/quant_formats.hpp>

namespace precast::weights {

namespace {

/// Rows of so many columns or more do not fit the counts of a DtypeInfo.
constexpr std::int64_t longest_held_row = std::int64_t{1} << 29;

/// Writes the factors of rows from `first` on.
using RowFactors = std::function<void(std::int64_t first, std::span<f32> factors)>;

/// The factor of each row: one for all of them, or one each.
RowFactors row_factors(const Companions& companions, const io::TensorEntry& scale, const std::string& layer,
                       std::int64_t rows) {
  const std::int64_t count = scale.shape.elements();
  // The same number of scales in another shape is of columns or of tiles.
  const bool of_rows = count == rows && scale.shape.rank() > 0 && scale.shape[0] == rows;
  if (!holds_numbers(scale))
    throw companions.error(layer + ".weight",
                           "its scale is " + std::string(scale.dtype.file_name) +
                               " where F32, BF16, F16 or fp8 is expected: get the file again");
  if (count != 1 && !of_rows)
    throw companions.error(layer + ".weight",
                           "its scale is " + std::string(scale.dtype.file_name) + " " +
                               to_string(scale.shape) + " where one number, or one for each of " +
                               std::to_string(rows) + " rows, is expected: get the file again");
  return [&scale, count](std::int64_t first, std::span<f32> factors) {
    if (count == 1)
      std::ranges::fill(factors, values_of(scale).front());
    else
      read_values(scale, first, factors);
  };
}

/// Any values of a matrix, from codes and a factor for each row.
Decoding decoded_rows(const Companions& companions, const io::TensorEntry& stored,
                      const io::TensorEntry& scale, const std::string& layer) {
  const std::int64_t rows = stored.shape.rank() ? stored.shape[0] : 1;
  const std::int64_t columns = stored.shape.elements() / std::max<std::int64_t>(rows, 1);
  const bool bytes = stored.dtype.info == int8_info;
  const auto decode = [&stored, columns, factors = row_factors(companions, scale, layer, rows), bytes](
                          std::int64_t from, std::span<f32> out) {
    for_rows(std::ssize(out), 1, [&](std::int64_t begin, std::int64_t count) {
      std::span<f32> here = out.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
      std::int64_t first = from + begin;
      if (bytes)
        std::ranges::transform(
            stored.bytes.subspan(static_cast<std::size_t>(first), here.size()), here.begin(),
            [](std::byte value) { return static_cast<f32>(static_cast<std::int8_t>(value)); });
      else
        read_values(stored, first, here);
      const std::int64_t row = first / columns;
      std::vector<f32> by(static_cast<std::size_t>((first + count - 1) / columns - row + 1));
      factors(row, by);
      for (const f32 factor : by) {
        const auto left_in_row = static_cast<std::size_t>(columns - first % columns);
        const auto of_row = here.first(std::min(left_in_row, here.size()));
        for (f32& value : of_row) value *= factor;
        first += std::ssize(of_row);
        here = here.subspan(of_row.size());
      }
    });
  };
  return {.decode = decode, .run = 1};
}

/// Rows of codes and a factor for each row as a weight that stays so in memory, where this build multiplies
/// these: a block format of rows under scales.
void hold_rows(WeightTensor& weight, const Companions& companions, const io::TensorEntry& scale,
               const std::string& layer) {
  const io::TensorEntry& stored = *weight.stored;
  if (stored.shape.rank() != 2) return;
  const std::int64_t rows = stored.shape[0], columns = stored.shape[1];
  // Rows of an odd number of bytes would begin at addresses where readers copy them first.
  if (rows == 0 || columns < 2 || columns % 2 != 0 || columns >= longest_held_row) return;
  const bool of_tensor = scale.shape.elements() == 1;
  any_scaled_row_dtype([&]<class Format>(std::type_identity<Format>) {
    using Code = scaled_code_of<Format>;
    constexpr bool of_bytes = std::is_same_v<Code, std::int8_t>;
    // int8 has no format with one scale for all: each row gets it.
    if ((scale_of<Format> == ScaleOf::tensor) != (of_tensor && !of_bytes)) return false;
    if (stored.dtype.info != code_info<Code>() || !block_format_compiled(dtype_traits<Format>::name))
      return false;
    const std::int64_t row_bytes = row_head_bytes + columns;
    const auto arrange = [&stored, rows, columns, row_bytes,
                          factors = row_factors(companions, scale, layer, rows)](std::span<std::byte> out) {
      std::vector<f32> by(static_cast<std::size_t>(rows));
      factors(0, by);
      for_rows(rows, columns, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t r = first; r < first + count; ++r) {
          std::byte* const row = out.data() + r * row_bytes;
          write_row_head(by[static_cast<std::size_t>(r)], columns, row);
          std::memcpy(row + row_head_bytes, stored.bytes.data() + r * columns,
                      static_cast<std::size_t>(columns));
        }
      });
    };
    weight.held = {scaled_row_info(dtype_traits<Format>::name, columns), rows * row_bytes, arrange};
    return true;
  });
}

/// Inverts the rotation of groups of columns: multiplies each group by a Kronecker power of one 4 by 4
/// matrix, which is its own inverse.
void invert_rotation(std::span<f32> row, std::int64_t group) {
  for (std::size_t begin = 0; begin < row.size(); begin += static_cast<std::size_t>(group)) {
    const auto part = row.subspan(begin, static_cast<std::size_t>(group));
    for (std::size_t step = 1; step < part.size(); step *= 4)
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (i / step % 4 != 0) continue;
        f32 &a = part[i], &b = part[i + step], &c = part[i + 2 * step], &d = part[i + 3 * step];
        const std::array<f32, 4> turned{(a + b + c - d) / 2, (a + b - c + d) / 2, (a - b + c + d) / 2,
                                        (-a + b + c + d) / 2};
        a = turned[0], b = turned[1], c = turned[2], d = turned[3];
      }
  }
}

WeightTensor rows_weight(const Companions& companions, const std::string& layer,
                         const io::TensorEntry& stored, const io::TensorEntry& scale) {
  return {&stored, stored.shape,
          std::string(stored.dtype.info == int8_info ? "int8" : stored.dtype.info.name) +
              (scale.shape.elements() == 1 ? " with a scale" : " with a scale a row"),
          std::ssize(stored.bytes) + std::ssize(scale.bytes), decoded_rows(companions, stored, scale, layer)};
}

}  // namespace

WeightTensor scaled_rows_weight(const Companions& companions, const std::string& layer,
                                const io::TensorEntry& stored, const io::TensorEntry& scale) {
  WeightTensor weight = rows_weight(companions, layer, stored, scale);
  if (const ComfyFormat* const format = comfy_row_format_of(stored.dtype.info))
    weight.decoding->codes = {format->announced, &scale};
  hold_rows(weight, companions, scale, layer);
  return weight;
}

WeightTensor rotated_rows_weight(const Companions& companions, const std::string& layer,
                                 const io::TensorEntry& stored, const io::TensorEntry& scale,
                                 std::int64_t group) {
  WeightTensor weight = rows_weight(companions, layer, stored, scale);
  weight.format.insert(0, "rotated ");
  const auto decode = [rotated = weight.decoding->decode, group](std::int64_t from, std::span<f32> out) {
    rotated(from, out);
    for_rows_in(out, group,
                [&](std::int64_t, std::int64_t, std::span<f32> here) { invert_rotation(here, group); });
  };
  weight.decoding = {.decode = decode, .run = group};
  return weight;
}

}  // namespace precast::weights
