// Numbers in JSON, which has none for infinity and NaN.
#pragma once

#include <cmath>

#include <nlohmann/json.hpp>

#include <precast/io/number_text.hpp>

namespace precast::families {

/// A number, or "inf", "-inf" or "nan".
inline nlohmann::ordered_json number_json(double value) {
  if (std::isfinite(value)) return value;
  return io::shortest(value);
}

}  // namespace precast::families
