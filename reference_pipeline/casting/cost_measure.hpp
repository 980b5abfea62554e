// Measure: which number of a layer in a format is meant.
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

/// A measure, its key in files and word on command lines, and where a layer has it.
struct NamedMeasure {
  Measure measure;
  const char* key;
  std::optional<double> TypeCost::*number;
};
/// All of them, in the order of the enumeration.
inline constexpr std::array<NamedMeasure, 5> named_measures{
    {{Measure::cost, "cost", &TypeCost::cost},
     {Measure::loss, "loss", &TypeCost::loss},
     {Measure::relative_cost, "relative_cost", &TypeCost::relative_cost},
     {Measure::relative_loss, "relative_loss", &TypeCost::relative_loss},
     {Measure::estimate, "estimate", &TypeCost::estimate}}};
constexpr const NamedMeasure& named(Measure measure) {
  return *std::ranges::find(named_measures, measure, &NamedMeasure::measure);
}
constexpr std::string_view to_string(Measure measure) { return named(measure).key; }

/// The number of that measure, where it is known.
inline std::optional<double> value_of(const TypeCost& cost, Measure measure) {
  return cost.*named(measure).number;
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
