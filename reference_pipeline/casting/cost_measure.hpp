// The four numbers that a layer in a format has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <casting/cost_file.hpp>

namespace precast::casting {

/// Which of a cost file's numbers is meant.
enum class Measure : std::uint8_t { cost, loss, relative_cost, relative_loss };

/// Their keys in files and words on command lines, by value.
inline constexpr std::array<std::string_view, 4> measure_names{"cost", "loss", "relative_cost",
                                                               "relative_loss"};

/// The same words for help and completions.
inline constexpr char measure_choices[] = "cost|loss|relative_cost|relative_loss";

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
  }
  return std::nullopt;
}

}  // namespace precast::casting
