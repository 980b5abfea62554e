// The numbers that a layer in a format has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <casting/cost_file.hpp>

namespace precast::casting {

/// Which of a cost file's numbers is meant.
enum class Measure : std::uint8_t { cost, loss, relative_cost, relative_loss, estimate };

/// Their keys in files and words on command lines, by value.
inline constexpr std::array<std::string_view, 5> measure_names{"cost", "loss", "relative_cost",
                                                               "relative_loss", "estimate"};

/// The same words for help and completions.
inline constexpr char measure_choices[] = "cost|loss|relative_cost|relative_loss|estimate";

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

}  // namespace precast::casting
