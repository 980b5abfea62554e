// Tables of a cost file: a row for each layer, a column for each format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>

namespace precast::casting {

/// A table: the first row has the formats, the second their bits, and then a row for each layer; the first
/// column is the layers' names. An empty string stands for a number that was not measured.
struct CostTable {
  std::vector<std::vector<std::string>> rows;
};

/// The numbers of a measure to five digits. Row `bits` has the layers' mean where fallbacks make them
/// differ. A table of estimates has only the formats that any layer has an estimate in, and below them each
/// format's rank correlation over the layers with their relative losses and with their relative costs,
/// where these were measured. Throws InputError where no format has the number.
CostTable cost_table(const CostFile& file, Measure measure);

/// The numbers per parameter: each is divided by its layer's parameters over those of the smallest layer.
/// Throws InputError where a layer's parameters are unknown.
CostTable weighted_cost_table(const CostFile& file, Measure measure);

/// Untrusted text escaped for Markdown, in a table too: printable, and no HTML.
std::string markdown_text(std::string_view text);
/// The table in Markdown; an empty string is an empty cell.
std::string as_markdown(const CostTable& table);
/// The table as comma-separated values (RFC 4180, but with LF line ends).
std::string as_csv(const CostTable& table);

}  // namespace precast::casting
