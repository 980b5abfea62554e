// Tables of a cost file: a row for each layer, a column for each format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>

namespace precast::casting {

/// A table: the first row has the formats, the second their bits, and then a row for each layer; the first
/// column is the layers' names. An empty text stands for what was not measured.
struct CostTable {
  std::vector<std::vector<std::string>> rows;
};

/// The numbers of a measure, to five digits, estimates of the formats alone that any layer has one of; `bits`
/// says the layers' mean where fallbacks make them differ. Under the estimates stands how well it agrees with
/// what was measured, for each format: the rank correlation over the layers with their relative losses, and
/// with their relative costs. Throws InputError where no format has the number.
CostTable cost_table(const CostFile& file, Measure measure);

/// The same for each parameter: numbers are divided by the layer's parameters over those of the smallest
/// layer. Throws InputError where a layer does not say its parameters.
CostTable weighted_cost_table(const CostFile& file, Measure measure);

/// Text of strangers as Markdown shows it, in a table too: printable, and no HTML.
std::string markdown_text(std::string_view text);
/// As Markdown, with an empty line for nothing.
std::string as_markdown(const CostTable& table);
/// As comma-separated values (RFC 4180, with line feeds alone).
std::string as_csv(const CostTable& table);

}  // namespace precast::casting
