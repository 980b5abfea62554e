// Numbers formatted for people.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include <precast/io/number_text.hpp>

namespace precast::cli {

/// A value with four significant digits, "2.312", "1e-06", or with all digits before the point if larger,
/// "65536"; "NaN" without the sign that printf shows.
inline std::string four_digits(double value) {
  if (std::isnan(value)) return "NaN";
  const double magnitude = std::fabs(value);
  return magnitude >= 9999.5 && magnitude < 1e9 ? io::fixed(value, 0) : io::significant(value, 4);
}

/// A PSNR in dB for a table: "41.20", or "equal" if infinite.
inline std::string psnr_text(double psnr) { return std::isinf(psnr) ? "equal" : io::fixed(psnr, 2); }

/// "0.42 s", "3.2 s", "41 s", "3 min 05 s", "2 h 07 min"; "?" for a negative, NaN or huge duration.
inline std::string human_duration(double seconds) {
  if (!(seconds >= 0 && seconds < 3.6e9)) return "?";
  if (seconds < 59.5) return io::fixed(seconds, seconds < 0.995 ? 2 : seconds < 9.95 ? 1 : 0) + " s";
  char text[40];
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600)
    std::snprintf(text, sizeof text, "%lld min %02lld s", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
  return text;
}

}  // namespace precast::cli
