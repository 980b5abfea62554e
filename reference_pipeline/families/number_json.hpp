// Numbers in JSON, which has none for infinity and NaN.
#pragma once

#include <cmath>

#include <families/shortest.hpp>
#include <nlohmann/json.hpp>

namespace precast::families {

/// A number, or "inf", "-inf" or "nan".
inline nlohmann::ordered_json number_json(double value) {
  if (std::isfinite(value)) return value;
  return shortest(value);
}

}  // namespace precast::families
