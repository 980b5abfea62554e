// Tables of a cost file: a row for each layer, a column for each format.
#pragma once

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <plots/plot.hpp>

namespace precast::cli {

/// The numbers of a measure to five digits, and an empty text for one that was not measured: the first row
/// has the formats, the second, `bits`, their bits, then a row for each layer; the first column is the
/// layers' names. Row `bits` has the layers' mean where fallbacks make them differ. A table of estimates has
/// only the formats that any layer has an estimate in, and below them each format's rank correlation over the
/// layers with their relative losses and with their relative costs, where these were measured. Throws
/// InputError where no format has the number.
plots::TextRows cost_table(const casting::CostFile& file, casting::Measure measure);

/// The numbers per parameter: each is divided by its layer's parameters over those of the smallest layer.
/// Throws InputError where a layer's parameters are unknown.
plots::TextRows weighted_cost_table(const casting::CostFile& file, casting::Measure measure);

}  // namespace precast::cli
