// Determines what a format holds from its largest number, and by decoding.
#include <algorithm>
#include <cmath>
#include <vector>

#include <formats/encode_in_range.hpp>

#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/quant/largest_magnitude.hpp>

namespace precast::formats {

namespace {

/// Whether a magnitude is rounded to the nearest number of the format. A format that has no code for larger
/// magnitudes gives its largest number for them.
bool is_in_range(const FloatFormat& format, f32 magnitude) {
  const double beyond = static_cast<double>(magnitude) - format.max();
  // The largest number's code is odd where no code is kept for anything else: a tie would be rounded up.
  if (format.specials == Specials::none) return beyond < format.ulp(format.max()) / 2;
  return std::isfinite(format.decode(format.encode(static_cast<double>(magnitude))));
}

}  // namespace

bool encode_in_range(const StoredFormat& format, std::span<const f32> values, std::span<std::byte> bytes,
                     const quant::EncodeOptions& options) {
  const f32 largest = quant::largest_magnitude(values);
  if (format.info.name == dtype_traits<nvfp4>::name && largest > largest_nvfp4) return false;
  format.encode(values, bytes, options);
  constexpr f32 largest_f16 = 65504;
  if (format.holds_f16_range && largest <= largest_f16) return true;
  if (format.scalar) return is_in_range(*format.scalar, largest);
  std::vector<f32> back(values.size());
  format.decode(bytes, back);
  // Some encoders make a whole block 0 where squares of its values, or their sums, are beyond f32.
  const auto place = std::ranges::max_element(values, {}, [](f32 value) { return std::fabs(value); });
  if (largest > largest_f16 && back[static_cast<std::size_t>(place - values.begin())] == 0) return false;
  return std::ranges::all_of(back, [](f32 value) { return std::isfinite(value); });
}

}  // namespace precast::formats
