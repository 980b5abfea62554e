#include <algorithm>
#include <limits>
#include <set>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <casting/json_fields.hpp>
#include <formats/registry.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/json_text.hpp>

namespace precast::casting {

namespace {

constexpr std::int64_t most_parameters = std::int64_t{1} << 48, most_samples = 1'000'000'000;
constexpr double least_bits = 0.01, most_bits = 64, any_number = std::numeric_limits<double>::max();

LayerCost read_layer(const std::filesystem::path& path, std::size_t place, const nlohmann::json& value) {
  const std::string by_place = "layer number " + std::to_string(place + 1) + ": ";
  LayerCost layer;
  const JsonFields unnamed(path, by_place, value);
  const auto name = unnamed.text("name");
  if (!name) throw unnamed.error("name", "is missing: give each layer its name");
  if (name->empty()) throw unnamed.error("name", "is empty: give each layer its name");
  layer.name = *name;
  const std::string where = "layer '" + io::printable(layer.name) + "': ";
  const JsonFields fields(path, where, value);
  layer.parameters = fields.integer("parameters", 1, most_parameters);
  const nlohmann::json* const types = fields.find("types");
  if (!types) return layer;
  if (!types->is_object())
    throw fields.error("types",
                       "must be an object of formats, not " + io::json_in_words(*types) + ": correct it");
  for (const auto& [type, numbers] : types->items()) {
    if (type.empty()) throw fields.error("types", "holds a format without a name: give it one");
    const JsonFields of_type(path, where + "type '" + io::printable(type) + "': ", numbers);
    // Formats that this build does not have keep the name that the file gives them.
    const formats::StoredFormat* const format = formats::format_in_either_case(type);
    const auto [entry, is_new] = layer.types.try_emplace(format ? format->name : type);
    if (!is_new)
      throw fields.error("types", "holds '" + io::printable(type) +
                                      "' in capital and in small letters: leave one of them out");
    TypeCost& cost = entry->second;
    cost.bits = of_type.number("bits", least_bits, most_bits);
    for (const auto& [measure, key, number] : named_measures)
      cost.*number = of_type.number(key, 0, any_number, NotFinite::taken);
  }
  return layer;
}

std::vector<std::string> names_of_layers(const JsonFields& fields, const char* key) {
  const nlohmann::json* const names = fields.find(key);
  if (!names) return {};
  if (!names->is_array() ||
      !std::ranges::all_of(*names, [](const nlohmann::json& name) { return name.is_string(); }))
    throw fields.error(key, "must be a list of names of layers: correct it, or take it out");
  return names->get<std::vector<std::string>>();
}

}  // namespace

bool CostFile::has_estimates() const {
  return std::ranges::any_of(layers, [](const LayerCost& layer) {
    return std::ranges::any_of(layer.types,
                               [](const auto& type) { return type.second.estimate.has_value(); });
  });
}

std::optional<double> CostFile::bits_of(const std::string& type) const {
  double bits = 0, parameters = 0;
  for (const LayerCost& layer : layers) {
    const auto found = layer.types.find(type);
    if (found == layer.types.end() || !found->second.bits) continue;
    const auto weight = static_cast<double>(layer.parameters.value_or(1));
    bits += weight * *found->second.bits;
    parameters += weight;
  }
  if (parameters > 0) return bits / parameters;
  const formats::StoredFormat* const format = formats::format_named(type);
  return format ? std::optional(format->bits) : std::nullopt;
}

std::vector<std::string> CostFile::types() const {
  std::set<std::string> names;
  for (const LayerCost& layer : layers)
    for (const auto& [type, cost] : layer.types) names.insert(type);
  std::vector<std::pair<double, std::string>> by_bits;
  by_bits.reserve(names.size());
  for (const std::string& name : names) by_bits.emplace_back(-bits_of(name).value_or(0), name);
  std::ranges::sort(by_bits);
  std::vector<std::string> result;
  result.reserve(by_bits.size());
  for (auto& [bits, name] : by_bits) result.push_back(std::move(name));
  return result;
}

CostFile parse_cost_file(std::string_view text, const std::filesystem::path& path) {
  const nlohmann::json json = parse_own_json(text, path, "a cost file (precast cost)");
  const JsonFields fields(path, "", json);
  CostFile file;
  file.model = fields.text("model");
  file.samples = fields.integer("samples", 1, most_samples);
  file.settings = fields.text("settings");
  file.estimates = fields.text("estimates");
  file.missing = names_of_layers(fields, "missing");
  file.order = names_of_layers(fields, "order");
  const nlohmann::json* const layers = fields.find("layers");
  if (!layers) throw fields.error("layers", "is missing: check that this is a cost file (precast cost)");
  if (!layers->is_array() || layers->empty())
    throw fields.error("layers", "must be a list of one layer or more, not " +
                                     (layers->is_array() ? "an empty one" : io::json_in_words(*layers)) +
                                     ": check that this is a cost file (precast cost)");
  std::set<std::string> names;
  std::int64_t parameters = 0;
  for (std::size_t place = 0; place < layers->size(); ++place) {
    file.layers.push_back(read_layer(path, place, (*layers)[place]));
    const std::string& name = file.layers.back().name;
    parameters += file.layers.back().parameters.value_or(0);
    if (parameters > most_parameters)  // or sizes in bytes were beyond an integer
      throw io::file_error(path,
                           "layer '" + io::printable(name) +
                               "': key 'parameters': with those of the layers before it they are more than " +
                               std::to_string(most_parameters) + ", all that is known here: correct it");
    if (!names.insert(name).second)
      throw io::file_error(
          path, "layer '" + io::printable(name) + "': key 'name': another layer has it: give each its own");
  }
  return file;
}

CostFile read_cost_file(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  return parse_cost_file(io::json_text(file, "a cost file"), path);
}

std::string cost_file_text(const CostFile& file) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (file.model) json["model"] = *file.model;
  if (file.samples) json["samples"] = *file.samples;
  if (file.settings) json["settings"] = *file.settings;
  if (file.estimates) json["estimates"] = *file.estimates;
  if (!file.missing.empty()) json["missing"] = file.missing;
  if (!file.order.empty()) json["order"] = file.order;
  nlohmann::ordered_json& layers = json["layers"] = nlohmann::ordered_json::array();
  const std::vector<std::string> types = file.types();
  for (const LayerCost& layer : file.layers) {
    nlohmann::ordered_json entry{{"name", layer.name}};
    if (layer.parameters) entry["parameters"] = *layer.parameters;
    nlohmann::ordered_json& numbers = entry["types"] = nlohmann::ordered_json::object();
    for (const std::string& type : types) {
      const auto found = layer.types.find(type);
      if (found == layer.types.end()) continue;
      nlohmann::ordered_json& cost = numbers[type] = nlohmann::ordered_json::object();
      if (found->second.bits) cost["bits"] = *found->second.bits;
      for (const auto& [measure, key, number] : named_measures)
        if (found->second.*number) cost[key] = io::json_number(*(found->second.*number));
    }
    layers.push_back(std::move(entry));
  }
  return io::indented_json(json) + "\n";
}

void write_cost_file(const std::filesystem::path& path, const CostFile& file) {
  io::write_file(path, cost_file_text(file));
}

}  // namespace precast::casting
