// The rule of fitting_type, and the formats that it falls back to.
#include <array>
#include <string_view>
#include <type_traits>

#include <formats/fitting.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/io/gguf_types.hpp>

namespace precast::formats {

namespace {

/// Formats in blocks of 32 values, by rising size: each is better than those before it.
constexpr std::array<std::string_view, 4> fallback_types{"iq4_nl", "q5_0", "q5_1", "q8_0"};

bool is_of_rows(const DtypeInfo& type) {
  const StoredFormat* const format = format_named(type.name);
  return format && format->of_rows;
}

/// Whether some kind of file holds a tensor of that shape in a format, whatever its rows are.
bool is_held(const StoredFormat& format, const Shape& tensor) {
  if (format.of_rows) return tensor.rank() == 2;
  return io::gguf_type(format.name) || in_whole_tiles(format, tensor);
}

}  // namespace

bool divides(const DtypeInfo& type, std::int64_t values) {
  return is_of_rows(type) || values % type.values_per_block == 0;
}

bool in_whole_tiles(const StoredFormat& format, const Shape& tensor) {
  if (format.tile_rows == 1) return true;
  return tensor.rank() == 2 && tensor[0] % format.tile_rows == 0 && tensor[1] % format.tile_columns == 0;
}

std::optional<DtypeInfo> fitting_type(const DtypeInfo& wanted, const Shape& tensor) {
  const StoredFormat* const format = format_named(wanted.name);
  if (format && !is_held(*format, tensor)) return std::nullopt;
  const std::int64_t columns = tensor.back();
  if (format && format->of_rows)
    return columns > 0 && columns < format->info.values_per_block
               ? std::optional(scaled_row_info(format->info.name, columns))
               : std::nullopt;
  if (columns % wanted.values_per_block == 0) return wanted;
  if (is_added(wanted)) return std::nullopt;  // files that hold it hold none of ggml's blocks
  for (const std::string_view name : fallback_types) {
    const DtypeInfo type = format_named(name)->info;
    if (bits_per_value(type) >= bits_per_value(wanted) && columns % type.values_per_block == 0) return type;
  }
  return std::nullopt;
}

double bits_in_file(const DtypeInfo& type, const Shape& shape) {
  const auto values = static_cast<double>(shape.elements());
  double bits = bits_per_value(type) * values;
  visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
    const double rows = values / type.values_per_block, scales = scale_of<Format> == ScaleOf::row ? rows : 1;
    bits += 8 * (static_cast<double>(sizeof(f32)) * scales - static_cast<double>(row_head_bytes) * rows);
  });
  return bits;
}

}  // namespace precast::formats
