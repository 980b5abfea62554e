#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <casting/rank_correlation.hpp>
#include <cli/casting/cost_table.hpp>

#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

using casting::CostFile, casting::LayerCost, casting::Measure, plots::TextRows;

/// The formats that have a column: all of the file's, as in the published tables; for estimates, only those
/// that any layer has an estimate in.
std::vector<std::string> types_with(const CostFile& file, Measure measure) {
  std::vector<std::string> types = file.types(), found = types;
  std::erase_if(found, [&](const std::string& type) {
    return std::ranges::none_of(file.layers, [&](const LayerCost& layer) {
      const auto cost = layer.types.find(type);
      return cost != layer.types.end() && value_of(cost->second, measure);
    });
  });
  if (found.empty() && !types.empty())
    throw InputError("no layer has a number for '" + std::string(to_string(measure)) + "': " +
                     (measure == Measure::estimate ? "precast cost --importance adds it"
                                                   : "choose another --measure, or measure it"));
  return measure == Measure::estimate ? found : types;
}

template <class WeightOf>
TextRows cost_rows(const CostFile& file, Measure measure, WeightOf&& weight_of) {
  const std::vector<std::string> types = types_with(file, measure);
  TextRows table{{"layer"}, {"bits"}};
  for (const std::string& type : types) {
    const auto bits = file.bits_of(type);
    table[0].push_back(type);
    table[1].push_back(bits ? io::significant(*bits, 5) : "");
  }
  for (const LayerCost& layer : file.layers) {
    std::vector<std::string>& row = table.emplace_back(1, layer.name);
    for (const std::string& type : types) {
      const auto found = layer.types.find(type);
      const auto value = found == layer.types.end() ? std::nullopt : value_of(found->second, measure);
      row.push_back(value ? io::significant(*value / weight_of(layer), 5) : "");
    }
  }
  return table;
}

/// The rank correlation over layers between a format's estimates and a measured number.
std::optional<double> agreement(const CostFile& file, const std::string& type, Measure measure) {
  std::vector<double> estimates, measured;
  for (const LayerCost& layer : file.layers) {
    const auto found = layer.types.find(type);
    if (found == layer.types.end() || !found->second.estimate) continue;
    const auto value = value_of(found->second, measure);
    if (!value || std::isnan(*value) || std::isnan(*found->second.estimate)) continue;  // have no rank
    estimates.push_back(*found->second.estimate);
    measured.push_back(*value);
  }
  return casting::rank_correlation(estimates, measured);
}

void add_agreement(const CostFile& file, TextRows& table) {
  for (const Measure measure : {Measure::relative_loss, Measure::relative_cost}) {
    std::vector<std::string> row{"rank correlation with " + std::string(to_string(measure))};
    bool any = false;
    for (const std::string& type : std::span(table.front()).subspan(1)) {
      const auto correlation = agreement(file, type, measure);
      row.push_back(correlation ? io::fixed(*correlation, 2) : "");
      any = any || correlation;
    }
    if (any) table.push_back(std::move(row));
  }
}

}  // namespace

TextRows cost_table(const CostFile& file, Measure measure) {
  TextRows table = cost_rows(file, measure, [](const LayerCost&) { return 1.0; });
  if (measure == Measure::estimate) add_agreement(file, table);
  return table;
}

TextRows weighted_cost_table(const CostFile& file, Measure measure) {
  std::int64_t fewest = 0;
  for (const LayerCost& layer : file.layers) {
    if (!layer.parameters)
      throw InputError("layer '" + io::printable(layer.name) +
                       "' does not say its parameters: a table weighted by them needs those of all layers");
    fewest = fewest ? std::min(fewest, *layer.parameters) : *layer.parameters;
  }
  return cost_rows(file, measure, [&](const LayerCost& layer) {
    return static_cast<double>(*layer.parameters) / static_cast<double>(fewest);
  });
}

}  // namespace precast::cli
