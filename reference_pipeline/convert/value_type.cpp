// Conversions of values by the formats that this program has, and of f64.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <convert/value_type.hpp>
#include <formats/registry.hpp>

namespace precast::conversion {

namespace {

/// The f32 whose last bit is 1 among the two around a value that f32 does not hold.
f32 rounded_to_odd(double value) {
  const f32 nearest = static_cast<f32>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // towards zero
  return std::bit_cast<f32>(bits | 1);
}

}  // namespace

bool is_readable(const DtypeInfo& type) {
  const formats::StoredFormat* const format = formats::format_named(type.name);
  return type == f64_info || (format && format->info == type);
}

void decode(const DtypeInfo& type, std::span<const std::byte> bytes, std::span<f32> values,
            F64Rounding rounding) {
  if (type == f64_info) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      double value;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      values[i] = rounding == F64Rounding::odd ? rounded_to_odd(value) : static_cast<f32>(value);
    }
    return;
  }
  formats::format_named(type.name)->decode(bytes, values);
}

}  // namespace precast::conversion
