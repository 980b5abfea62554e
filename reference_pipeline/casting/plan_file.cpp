#include <limits>

#include <casting/plan_file.hpp>
#include <formats/registry.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/config.hpp>

namespace precast::casting {

std::optional<std::pair<std::string, std::string>> Plan::layer_of(std::string_view tensor) const {
  for (std::string_view prefix = tensor;;) {
    if (const auto found = types.find(prefix); found != types.end()) return *found;
    const std::size_t dot = prefix.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    prefix = prefix.substr(0, dot);
  }
}

std::optional<std::string> Plan::type_of(std::string_view tensor) const {
  const auto found = layer_of(tensor);
  return found ? std::optional(found->second) : std::nullopt;
}

std::vector<std::string> Plan::formats() const {
  std::vector<std::string> all;
  all.reserve(types.size());
  for (const auto& [layer, type] : types) all.push_back(type);
  return all;
}

std::string Plan::model_in_words() const {
  return model ? "the model '" + io::printable(*model) + "'" : std::string("a model that it does not name");
}

Plan parse_plan(std::string_view text, const std::filesystem::path& path) {
  constexpr double any_number = std::numeric_limits<double>::max();
  const io::Config json = io::Config::of_own(text, path, "a plan (precast plan)");
  Plan plan;
  plan.model = json.optional_string("model");
  plan.bits = json.optional_number("bits", 0, 64);
  plan.bytes = json.optional_integer("bytes", 0, std::numeric_limits<std::int64_t>::max());
  plan.error = json.optional_number("error", 0, any_number);
  plan.gap = json.optional_number("gap", 0, any_number);
  const io::Config types = json.object("types");
  if (types.json().empty()) throw json.error("types", "is empty: give a format for each layer");
  for (const auto& [layer, type] : types.json().items()) {
    if (layer.empty()) throw json.error("types", "holds a layer without a name: give it one");
    const std::string name = types.string(layer);
    const formats::StoredFormat* const format = formats::format_in_either_case(name);
    if (!format)
      throw types.error(layer, "there is no format '" + io::printable(name, 40) + "' in this build: it has " +
                                   formats::format_list());
    plan.types[layer] = format->name;
  }
  return plan;
}

Plan read_plan(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  return parse_plan(io::json_text(file, "a plan"), path);
}

std::string plan_text(const Plan& plan) {
  io::Json json{{"types", plan.types}};
  if (plan.model) json["model"] = *plan.model;
  if (plan.bits) json["bits"] = *plan.bits;
  if (plan.bytes) json["bytes"] = *plan.bytes;
  if (plan.error) json["error"] = io::json_number(*plan.error);
  if (plan.gap) json["gap"] = io::json_number(*plan.gap);
  return io::indented_json(json) + "\n";
}

void write_plan(const std::filesystem::path& path, const Plan& plan) {
  io::write_file(path, plan_text(plan));
}

}  // namespace precast::casting
