// The numbers that a layer in a format has.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <casting/cost_file.hpp>

namespace precast::casting {

/// Which of a cost file's numbers is meant.
enum class Measure : std::uint8_t { cost, loss, relative_cost, relative_loss, estimate };

inline constexpr std::array all_measures{Measure::cost, Measure::loss, Measure::relative_cost,
                                         Measure::relative_loss, Measure::estimate};

/// Its key in files and word on command lines.
constexpr std::string_view to_string(Measure measure) {
  switch (measure) {
    case Measure::cost:
      return "cost";
    case Measure::loss:
      return "loss";
    case Measure::relative_cost:
      return "relative_cost";
    case Measure::relative_loss:
      return "relative_loss";
    case Measure::estimate:
      return "estimate";
  }
  return {};
}

/// That number, where it is known.
inline std::optional<double> value_of(const TypeCost& cost, Measure measure) {
  switch (measure) {
    case Measure::cost:
      return cost.cost;
    case Measure::loss:
      return cost.loss;
    case Measure::relative_cost:
      return cost.relative_cost;
    case Measure::relative_loss:
      return cost.relative_loss;
    case Measure::estimate:
      return cost.estimate;
  }
  return std::nullopt;
}

/// Whether any layer has a finite number for a format.
inline bool has_number(const CostFile& file, const std::string& type, Measure measure) {
  return std::ranges::any_of(file.layers, [&](const LayerCost& layer) {
    const auto found = layer.types.find(type);
    const auto value = found == layer.types.end() ? std::nullopt : value_of(found->second, measure);
    return value && std::isfinite(*value);
  });
}

}  // namespace precast::casting
