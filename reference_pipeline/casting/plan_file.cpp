#include <limits>

#include <casting/json_fields.hpp>
#include <casting/plan_file.hpp>
#include <formats/registry.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/json_text.hpp>

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
  const nlohmann::json json = parse_own_json(text, path, "a plan (precast plan)");
  const JsonFields fields(path, "", json);
  Plan plan;
  plan.model = fields.text("model");
  plan.bits = fields.number("bits", 0, 64);
  plan.bytes = fields.integer("bytes", 0, std::numeric_limits<std::int64_t>::max());
  plan.error = fields.number("error", 0, any_number);
  plan.gap = fields.number("gap", 0, any_number);
  const nlohmann::json* const types = fields.find("types");
  if (!types) throw fields.error("types", "is missing: check that this is a plan (precast plan)");
  if (!types->is_object() || types->empty())
    throw fields.error("types", "must be an object with a format for each layer, not " +
                                    (types->is_object() ? "an empty one" : io::json_in_words(*types)) +
                                    ": check that this is a plan (precast plan)");
  for (const auto& [layer, type] : types->items()) {
    const std::string where = "layer '" + io::printable(layer) + "': ";
    if (layer.empty()) throw fields.error("types", "holds a layer without a name: give it one");
    if (!type.is_string())
      throw fields.error(
          "types", where + "must be the name of a format, not " + io::json_in_words(type) + ": correct it");
    const auto& name = type.get_ref<const std::string&>();
    const formats::StoredFormat* const format = formats::format_in_either_case(name);
    if (!format)
      throw fields.error("types", where + "there is no format '" + io::printable(name, 40) +
                                      "' in this build: it has " + formats::format_list());
    plan.types[layer] = format->name;
  }
  return plan;
}

Plan read_plan(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  return parse_plan(io::json_text(file, "a plan"), path);
}

std::string plan_text(const Plan& plan) {
  nlohmann::ordered_json json{{"types", plan.types}};
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
