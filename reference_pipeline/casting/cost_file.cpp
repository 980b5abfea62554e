#include <algorithm>
#include <limits>
#include <set>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <formats/registry.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/config.hpp>

namespace precast::casting {

namespace {

constexpr std::int64_t most_parameters = std::int64_t{1} << 48, most_samples = 1'000'000'000;
constexpr double least_bits = 0.01, most_bits = 64, any_number = std::numeric_limits<double>::max();

LayerCost read_layer(const io::Config& json) {
  LayerCost layer;
  layer.name = json.string("name");
  if (layer.name.empty()) throw json.error("name", "is empty: give each layer its name");
  layer.parameters = json.optional_integer("parameters", 1, most_parameters);
  if (!json.has("types")) return layer;
  const io::Config types = json.object("types");
  for (const auto& [type, value] : types.json().items()) {
    if (type.empty()) throw json.error("types", "holds a format without a name: give it one");
    const io::Config numbers = types.object(type);
    // Formats that this build does not have keep the name that the file gives them.
    const formats::StoredFormat* const format = formats::format_in_either_case(type);
    const auto [entry, is_new] = layer.types.try_emplace(format ? format->name : type);
    if (!is_new) throw types.error(type, "appears in upper and in lower case: remove one of them");
    TypeCost& cost = entry->second;
    cost.bits = numbers.optional_number("bits", least_bits, most_bits);
    for (const auto& [measure, key, number] : named_measures)
      cost.*number = numbers.optional_number(key, 0, any_number, io::NotFinite::taken);
  }
  return layer;
}

/// The settings that this program writes. Any other value of the key is ignored, as unknown keys are: the
/// numbers can be planned from, and only a measurement that would continue the file needs them.
std::optional<CostConditions> read_settings(const io::Config& file) {
  if (!file.has("settings") || !file.value("settings").is_object()) return std::nullopt;
  const io::Config json = file.object("settings");
  if (!json.has("granularity") || !json.has("biases")) return std::nullopt;
  return CostConditions{json.string("granularity"),     json.boolean("biases"),
                        json.optional_string("patch"),  json.optional_string("samples"),
                        json.optional_string("policy"), json.optional_string("weights")};
}

io::Json settings_json(const CostConditions& settings) {
  io::Json json{{"granularity", settings.granularity}, {"biases", settings.biases}};
  if (settings.patch) json["patch"] = *settings.patch;
  if (settings.samples) json["samples"] = *settings.samples;
  if (settings.policy) json["policy"] = *settings.policy;
  if (settings.weights) json["weights"] = *settings.weights;
  return json;
}

}  // namespace

CostConditions CostConditions::without_weights() const {
  CostConditions all = *this;
  all.weights.reset();
  return all;
}

CostConditions CostConditions::of_cast() const { return {granularity, biases, patch, {}, {}, {}}; }

std::string CostConditions::inputs_in_words() const {
  return samples ? "samples " + *samples + ", " + policy.value_or("no policy") : "estimates";
}

std::string CostConditions::in_words() const {
  return inputs_in_words() + ", by " + granularity + ", biases " + (biases ? "cast" : "kept") +
         (patch ? ", patched from " + *patch : "") + (weights ? ", weights " + *weights : "");
}

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
  const io::Config json = io::Config::of_own(text, path, "a cost file (precast cost)");
  CostFile file;
  file.model = json.optional_string("model");
  file.samples = json.optional_integer("samples", 1, most_samples);
  file.settings = read_settings(json);
  file.estimates = json.optional_string("estimates");
  if (json.has("missing")) file.missing = json.strings("missing");
  if (json.has("order")) file.order = json.strings("order");
  std::set<std::string> names;
  std::int64_t parameters = 0;
  for (const io::Config& entry : json.objects("layers")) {
    const LayerCost& layer = file.layers.emplace_back(read_layer(entry));
    parameters += layer.parameters.value_or(0);
    if (parameters > most_parameters)  // or sizes in bytes were beyond an integer
      throw entry.error("parameters", "is too large: at most " + std::to_string(most_parameters) +
                                          " are supported, with those of the layers before it: correct it");
    if (!names.insert(layer.name).second)
      throw entry.error(
          "name", "is '" + io::printable(layer.name) + "', as that of another layer: give each its own");
  }
  if (file.layers.empty()) throw json.error("layers", "is empty: measure a model (precast cost)");
  return file;
}

CostFile read_cost_file(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  return parse_cost_file(io::json_text(file, "a cost file"), path);
}

std::string cost_file_text(const CostFile& file) {
  io::Json json = io::Json::object();
  if (file.model) json["model"] = *file.model;
  if (file.samples) json["samples"] = *file.samples;
  if (file.settings) json["settings"] = settings_json(*file.settings);
  if (file.estimates) json["estimates"] = *file.estimates;
  if (!file.missing.empty()) json["missing"] = file.missing;
  if (!file.order.empty()) json["order"] = file.order;
  io::Json& layers = json["layers"] = io::Json::array();
  const std::vector<std::string> types = file.types();
  for (const LayerCost& layer : file.layers) {
    io::Json entry{{"name", layer.name}};
    if (layer.parameters) entry["parameters"] = *layer.parameters;
    io::Json& numbers = entry["types"] = io::Json::object();
    for (const std::string& type : types) {
      const auto found = layer.types.find(type);
      if (found == layer.types.end()) continue;
      io::Json& cost = numbers[type] = io::Json::object();
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
