// Conversions of values by the formats that this program has, and of f64.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <convert/value_type.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/quant/largest_magnitude.hpp>

namespace precast::conversion {

namespace {

/// Of the two f32 around a value that f32 does not hold, the one whose last bit is 1.
f32 rounded_to_odd(double value) {
  const f32 nearest = static_cast<f32>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // towards zero
  return std::bit_cast<f32>(bits | 1);
}

/// Whether a magnitude is rounded to a number of the format that it is nearest to. The format may have no
/// code for what is too large, and its largest number in that place.
bool is_in_range(const FloatFormat& format, f32 magnitude) {
  const double beyond = static_cast<double>(magnitude) - format.max();
  // The largest number's code is odd where no code is kept for anything else: a tie would be rounded up.
  if (format.specials == Specials::none) return beyond < format.ulp(format.max()) / 2;
  return std::isfinite(format.decode(format.encode(static_cast<double>(magnitude))));
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

bool encode(const DtypeInfo& type, std::span<const f32> values, std::span<std::byte> bytes,
            const quant::EncodeOptions& options) {
  const f32 largest = quant::largest_magnitude(values);
  const formats::StoredFormat& format = *formats::format_named(type.name);
  if (type.name == dtype_traits<nvfp4>::name && largest > largest_nvfp4) return false;
  format.encode(values, bytes, options);
  constexpr f32 largest_f16 = 65504;
  if (format.holds_f16_range && largest <= largest_f16) return true;
  if (format.scalar) return is_in_range(*format.scalar, largest);
  std::vector<f32> back(values.size());
  format.decode(bytes, back);
  // Of values whose squares, or their sums, are beyond f32 some encoders leave 0 of the whole block.
  const auto place = std::ranges::max_element(values, {}, [](f32 value) { return std::fabs(value); });
  if (largest > largest_f16 && back[static_cast<std::size_t>(place - values.begin())] == 0) return false;
  return std::ranges::all_of(back, [](f32 value) { return std::isfinite(value); });
}

}  // namespace precast::conversion
