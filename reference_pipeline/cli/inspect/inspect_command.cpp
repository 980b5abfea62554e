// precast inspect: components, dtypes, shapes, parameters, bytes and memory of a model, without loading it.
#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include <cli/commands.hpp>
#include <cli/inspect/inspect_model.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/run_options.hpp>
#include <families/registry.hpp>

#include <precast/error.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/json_text.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// The config keys that give the size of a component, for all families.
std::vector<std::string_view> main_keys() {
  std::vector<std::string_view> keys;
  for (const families::Family* family : families::all_families())
    for (const std::string_view key : family->config_keys())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  return keys;
}

std::string config_line(const nlohmann::json& config) {
  std::string line;
  for (const std::string_view key : main_keys()) {
    const auto found = config.find(std::string(key));
    if (found == config.end() || found->is_null()) continue;
    const std::string value = found->is_string() ? found->get<std::string>() : io::json_line(*found);
    line += (line.empty() ? "" : ", ") + std::string(key) + " " + io::printable(value, 60);
  }
  return line;
}

/// "transformer_blocks.*.attn.to_q.weight": the name of a tensor without its block's index.
std::string without_indices(const std::string& name) {
  std::string pattern, part;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    part = name.substr(begin, end - begin);
    const bool index = !part.empty() &&
                       std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    pattern += (begin ? "." : "") + (index ? "*" : part);
    begin = end + 1;
  }
  return pattern;
}

std::string tensor_table(const InspectedComponent& component, bool all) {
  struct Group {
    std::string name, dtype, shape;
    std::int64_t count = 0, bytes = 0;
  };
  std::vector<Group> groups;
  std::map<std::string, std::size_t> known;
  for (const InspectedTensor& tensor : component.tensors) {
    const std::string name = io::printable(all ? tensor.name : without_indices(tensor.name));
    const std::string key = name + '\n' + tensor.dtype + to_string(tensor.shape);
    const auto [place, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.push_back({name, tensor.dtype, to_string(tensor.shape), 0, 0});
    ++groups[place->second].count;
    groups[place->second].bytes += tensor.bytes;
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(groups.size());
  for (const Group& group : groups)
    rows.push_back({"  " + group.name, group.dtype, group.shape,
                    (group.count > 1 ? std::to_string(group.count) + " x, " : "") + in_bytes(group.bytes)});
  return component.name + "\n" + aligned(rows, "lllr");
}

std::string dtypes_of(const InspectedComponent& component) {
  const bool several = component.dtypes.size() > 1;
  const std::string text = io::joined(component.dtypes, ", ", [&](const auto& each) {
    return each.first + (several ? " x " + std::to_string(each.second.tensors) : "");
  });
  return text.empty() ? "–" : text;
}

std::string overview(const Inspection& inspection) {
  std::vector<std::vector<std::string>> rows{
      {"component", "class", "dtype", "tensors", "parameters", "bytes"}};
  std::int64_t parameters = 0, bytes = 0;
  for (const InspectedComponent& component : inspection.components) {
    rows.push_back({component.name, component.class_name.empty() ? "–" : component.class_name,
                    dtypes_of(component),
                    component.has_weights ? std::to_string(component.tensors.size()) : "–",
                    component.parameters ? with_commas(component.parameters) : "–",
                    component.has_weights     ? in_bytes(component.bytes)
                    : component.is_checkpoint ? "PyTorch checkpoint"
                    : component.parameters    ? "no weights here"
                                              : "–"});
    parameters += component.parameters;
    bytes += component.bytes;
  }
  if (inspection.components.size() > 1)
    rows.push_back({"together", "", "", "", with_commas(parameters), in_bytes(bytes)});
  std::string text = aligned(rows, "lllr");
  for (const InspectedComponent& component : inspection.components)
    if (const std::string line = config_line(component.config); !line.empty())
      text += component.name + ": " + line + "\n";
  return text;
}

std::string memory_table(const Inspection& inspection) {
  std::vector<std::vector<std::string>> rows{{"  preset", "peak"}};
  for (const families::ComponentMemory& component : inspection.memory.front().estimate.components)
    rows.front().push_back(component.component);
  for (const PresetMemory& memory : inspection.memory) {
    rows.push_back({"  " + memory.preset, in_bytes(memory.estimate.peak())});
    for (const families::ComponentMemory& component : memory.estimate.components)
      rows.back().push_back(in_bytes(component.weights) +
                            (component.activations ? " + " + in_bytes(component.activations) : ""));
  }
  return "memory: " + inspection.memory_note + "\n" + aligned(rows, "lr");
}

Json inspection_json(const Inspection& inspection) {
  Json components = Json::array();
  Json accounting;
  for (const InspectedComponent& component : inspection.components) {
    Json dtypes = Json::object(), tensors = Json::array();
    for (const auto& [dtype, share] : component.dtypes)
      dtypes[dtype] = {{"tensors", share.tensors}, {"parameters", share.parameters}, {"bytes", share.bytes}};
    for (const InspectedTensor& tensor : component.tensors) {
      Json shape = Json::array();
      for (const std::int64_t size : tensor.shape.sizes()) shape.push_back(size);
      tensors.push_back(
          {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", shape}, {"bytes", tensor.bytes}});
    }
    components.push_back({{"name", component.name},
                          {"class", text_or_null(component.class_name)},
                          {"config", component.config},
                          {"files", component.files},
                          {"has_weights", component.has_weights},
                          {"parameters", component.parameters},
                          {"bytes", component.bytes},
                          {"dtypes", dtypes},
                          {"tensors", tensors}});
    if (component.accounting) accounting = component.accounting->json;
  }
  Json memory = Json::object();
  for (const PresetMemory& preset : inspection.memory) {
    Json parts = Json::object();
    for (const families::ComponentMemory& component : preset.estimate.components)
      parts[component.component] = {{"weights", component.weights}, {"activations", component.activations}};
    memory[preset.preset] = {{"peak", preset.estimate.peak()}, {"components", parts}};
  }
  return {{"path", inspection.path.string()},
          {"kind", inspection.kind},
          {"missing", inspection.missing},
          {"components", components},
          {"accounting", accounting},
          {"memory", memory},
          {"problem", text_or_null(inspection.problem)},
          {"file", inspection.file ? in_json(*inspection.file) : Json()}};
}

void print_text(const Inspection& inspection, bool all_tensors) {
  std::string text = overview(inspection);
  if (inspection.file) text += "\n" + in_text(*inspection.file);
  for (const InspectedComponent& component : inspection.components)
    if (component.accounting)
      text += "\n" + component.accounting->title + "\n" + aligned(component.accounting->rows, "lrl");
  if (!inspection.memory.empty()) text += "\n" + memory_table(inspection);
  if (!inspection.problem.empty()) text += "\ncannot be loaded: " + inspection.problem + "\n";
  for (const InspectedComponent& component : inspection.components)
    if (!component.tensors.empty()) text += "\n" + tensor_table(component, all_tensors);
  print(text);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  struct Options {
    std::string path;
    bool tensors = false, json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "inspect",
      "What is in a model folder or a file: components, dtypes, shapes, parameters, bytes, memory");
  command
      ->add_option("path", options->path,
                   "A model folder, the name of a model in Hugging Face's cache, shapes or shapes-sd, a "
                   "component's folder, a "
                   "safetensors or "
                   "GGUF file, or a config.json")
      ->type_name("PATH")
      ->required();
  command->add_flag("--tensors", options->tensors, "Every tensor, not one line for a layer in all blocks");
  command->add_flag("--json", options->json, "JSON on stdout, with every tensor");
  add_quiet_option(*command);
  command->footer(
      "Reads configs and file headers, no weights. A transformer's config.json alone is enough for its "
      "accounting.\n"
      "\n"
      "Examples:\n"
      "  precast inspect shapes-sd\n"
      "  precast inspect ~/FLUX.1-dev\n"
      "  precast inspect ~/FLUX.1-dev/transformer/config.json\n"
      "  precast inspect flux1-dev-Q4_K_S.gguf\n"
      "  precast inspect --tensors lora.safetensors");
  command->callback([options] {
    const Inspection inspection = inspect(named_model(options->path));
    if (options->json)
      print(inspection_json(inspection));
    else
      print_text(inspection, options->tensors);
    if (!inspection.missing.empty())
      throw io::file_error(inspection.path, "lacks " + listed(inspection.missing, "and") +
                                                ", which its model_index.json names: get the model again");
  });
}

}  // namespace precast::cli
