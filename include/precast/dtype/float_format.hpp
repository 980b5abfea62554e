// The facts of a floating-point format, and the exact conversions between its codes and real numbers.
#pragma once

#include <cstdint>
#include <limits>

#include <precast/dtype/host_device.hpp>

namespace precast {

/// Which codes of a format are not numbers.
enum class Specials : std::uint8_t {
  infinity_and_nan,  ///< the top exponent is kept for them, as IEEE 754 has it
  nan_only,          ///< only the very last code is NaN and there is no infinity (e4m3fn)
  none,              ///< every code is a number: overflow saturates (fp6, fp4)
};

/// What sort of value a code holds.
enum class ValueKind : std::uint8_t { zero, subnormal, normal, infinity, nan };

/// 2^exponent, exactly; the exponent must keep the result in double's range (subnormals included).
PRECAST_HOST_DEVICE_CONSTEXPR double power_of_two(int exponent) {
  if (exponent >= -1022) return bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return bit_cast<double>(std::uint64_t{1} << (exponent + 1074));
}

/// A binary floating-point format with a sign bit: `1 + exponent_bits + mantissa_bits` bits, at most 32.
/// Conversions round to nearest, ties to even, once; subnormals are kept.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  Specials specials = Specials::infinity_and_nan;

  friend constexpr bool operator==(const FloatFormat&, const FloatFormat&) = default;

  PRECAST_HOST_DEVICE_CONSTEXPR int bits() const { return 1 + exponent_bits + mantissa_bits; }
  PRECAST_HOST_DEVICE_CONSTEXPR int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  PRECAST_HOST_DEVICE_CONSTEXPR int min_exponent() const { return 1 - bias(); }
  constexpr int max_exponent() const {
    return (1 << exponent_bits) - 1 - bias() - (specials == Specials::infinity_and_nan ? 1 : 0);
  }
  /// The gap between 1 and the next larger number. With one exponent bit 1 is subnormal.
  constexpr double eps() const { return power_of_two((exponent_bits == 1 ? 1 : 0) - mantissa_bits); }
  constexpr double min_normal() const { return power_of_two(min_exponent()); }
  constexpr double min_subnormal() const { return power_of_two(min_exponent() - mantissa_bits); }
  /// The largest finite number.
  constexpr double max() const { return decode(max_code()); }
  /// Decimal digits that survive a round trip through the format: floor(mantissa_bits * log10(2)).
  constexpr int decimal_digits() const { return mantissa_bits * 30103 / 100000; }
  /// Codes in all, both signs.
  constexpr std::uint64_t codes() const { return std::uint64_t{1} << bits(); }

  PRECAST_HOST_DEVICE_CONSTEXPR std::uint32_t sign_code() const { return std::uint32_t{1} << (bits() - 1); }
  /// The code of the largest finite number.
  PRECAST_HOST_DEVICE_CONSTEXPR std::uint32_t max_code() const {
    const std::uint32_t last = sign_code() - 1;
    if (specials == Specials::infinity_and_nan) return infinity_code() - 1;
    return specials == Specials::nan_only ? last - 1 : last;
  }
  /// The code of +infinity; only formats with `Specials::infinity_and_nan` have one.
  PRECAST_HOST_DEVICE_CONSTEXPR std::uint32_t infinity_code() const {
    return ((std::uint32_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  /// The code that a NaN becomes: quiet where the format has quiet and signalling ones, else the only one;
  /// a format without NaN stores the largest number.
  PRECAST_HOST_DEVICE_CONSTEXPR std::uint32_t nan_code() const {
    if (specials == Specials::infinity_and_nan)
      return infinity_code() | (std::uint32_t{1} << (mantissa_bits - 1));
    return specials == Specials::nan_only ? sign_code() - 1 : max_code();
  }

  PRECAST_HOST_DEVICE_CONSTEXPR ValueKind kind(std::uint32_t code) const {
    const std::uint32_t magnitude = code & (sign_code() - 1);
    if (magnitude == 0) return ValueKind::zero;
    if (specials == Specials::infinity_and_nan && magnitude >= infinity_code())
      return magnitude == infinity_code() ? ValueKind::infinity : ValueKind::nan;
    if (specials == Specials::nan_only && magnitude == sign_code() - 1) return ValueKind::nan;
    return magnitude >> mantissa_bits ? ValueKind::normal : ValueKind::subnormal;
  }

  /// The number behind a code; every code converts exactly.
  PRECAST_HOST_DEVICE_CONSTEXPR double decode(std::uint32_t code) const {
    const bool negative = (code & sign_code()) != 0;
    double value = 0;
    switch (kind(code)) {
      case ValueKind::zero:
        break;
      case ValueKind::infinity:
        value = __builtin_huge_val();
        break;
      case ValueKind::nan:
        value = __builtin_nan("");
        break;
      case ValueKind::subnormal:
      case ValueKind::normal: {
        const int field = exponent_field(code);
        const std::uint32_t fraction = code & ((std::uint32_t{1} << mantissa_bits) - 1);
        const std::uint32_t significand = field ? fraction | (std::uint32_t{1} << mantissa_bits) : fraction;
        value = significand * power_of_two((field ? field - bias() : min_exponent()) - mantissa_bits);
      }
    }
    return negative ? -value : value;
  }

  /// The code nearest to a number, ties to even, in one rounding. Above the range: infinity where the format
  /// has one, else NaN, else the largest number.
  PRECAST_HOST_DEVICE_CONSTEXPR std::uint32_t encode(double value) const {
    const auto word = bit_cast<std::uint64_t>(value);
    const std::uint32_t sign = (word >> 63) ? sign_code() : 0;
    const int field = static_cast<int>(word >> 52) & 0x7ff;
    std::uint64_t significand = word & ((std::uint64_t{1} << 52) - 1);
    if (field == 0x7ff) {
      if (significand) return sign | nan_code();
      return sign | overflow_code();
    }
    if (field == 0 && significand == 0) return sign;
    int exponent = field ? field - 1023 : -1022;
    if (field) {
      significand |= std::uint64_t{1} << 52;
    } else {  // a double's own subnormal: normalise it, so that the shift below is right for wide formats
      for (; (significand >> 52) == 0; significand <<= 1) --exponent;
    }
    // `significand` has its leading one at bit 52. Drop bits until one unit is an ulp of the target.
    const int result_exponent = exponent < min_exponent() ? min_exponent() : exponent;
    const int drop = 52 - mantissa_bits + (result_exponent - exponent);
    if (drop > 54) return sign;  // below half of the smallest subnormal
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    const std::uint64_t rest = significand & ((half << 1) - 1);
    // Adding the exponent, rather than or-ing it, carries a mantissa that rounded up to the next power.
    std::uint64_t code = (static_cast<std::uint64_t>(result_exponent - min_exponent()) << mantissa_bits) +
                         (significand >> drop);
    if (rest > half || (rest == half && (code & 1))) ++code;
    return sign | (code > max_code() ? overflow_code() : static_cast<std::uint32_t>(code));
  }

  /// The distance from |value|, once rounded to the format, to the next larger number; NaN where it has none.
  constexpr double ulp(double value) const {
    const std::uint32_t code = encode(value) & (sign_code() - 1);
    const ValueKind sort = kind(code);
    if (sort == ValueKind::infinity || sort == ValueKind::nan)
      return std::numeric_limits<double>::quiet_NaN();
    const int field = exponent_field(code);
    return power_of_two((field ? field - bias() : min_exponent()) - mantissa_bits);
  }

  /// The biased exponent bits of a code.
  PRECAST_HOST_DEVICE_CONSTEXPR int exponent_field(std::uint32_t code) const {
    return static_cast<int>((code & (sign_code() - 1)) >> mantissa_bits);
  }

 private:
  PRECAST_HOST_DEVICE_CONSTEXPR std::uint32_t overflow_code() const {
    return specials == Specials::infinity_and_nan ? infinity_code() : nan_code();
  }
};

}  // namespace precast
