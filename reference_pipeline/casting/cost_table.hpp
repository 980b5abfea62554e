// Tables of a cost file: a row for each layer, a column for each format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <casting/cost_file.hpp>

namespace precast::casting {

/// The four numbers that a layer in a format has.
enum class Measure : std::uint8_t { cost, loss, relative_cost, relative_loss };
inline constexpr std::array<std::string_view, 4> measure_names{"cost", "loss", "relative_cost",
                                                               "relative_loss"};
std::optional<double> value_of(const TypeCost& cost, Measure measure);

/// A table: the first row has the formats, the second their bits, and then a row for each layer; the first
/// column is the layers' names. An empty text stands for what was not measured.
struct CostTable {
  std::vector<std::vector<std::string>> rows;
};

/// The numbers of a measure, to four digits; `bits` says the layers' mean where fallbacks make them differ.
CostTable cost_table(const CostFile& file, Measure measure);

/// The same for each parameter: numbers are divided by the layer's parameters over those of the smallest
/// layer. Throws InputError where a layer does not say its parameters.
CostTable weighted_cost_table(const CostFile& file, Measure measure);

/// As Markdown, with an empty line for nothing.
std::string as_markdown(const CostTable& table);
/// As comma-separated values (RFC 4180, with line feeds alone).
std::string as_csv(const CostTable& table);

}  // namespace precast::casting
