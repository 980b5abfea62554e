// Reads configs and safetensors headers into an Inspection.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <cli/inspect/inspect_model.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <families/request_error.hpp>
#include <image/picture_file.hpp>
#include <sampling/scheduler_config.hpp>
#include <unistd.h>
#include <weights/weight_tensors.hpp>

#include <precast/io/checkpoint.hpp>
#include <precast/io/component_source.hpp>
#include <precast/io/find_weights.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/policy/paths.hpp>

namespace precast::cli {

namespace {

namespace fs = std::filesystem;

/// The component folders of a model, for all families: those with weights first.
std::vector<std::string> component_names() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  for (const families::Family* family : families::all_families())
    for (const families::ComponentInfo& component : family->components()) add(component.name);
  for (const families::Family* family : families::all_families())
    for (const std::string_view name : family->other_folders()) add(name);
  return names;
}

/// Throws InputError if the folder cannot be read for lack of permission: it would seem empty.
bool is_folder(const fs::path& path) {
  std::error_code failed;
  const fs::file_type type = fs::status(path, failed).type();
  const bool folder = type == fs::file_type::directory;
  if (folder && ::access(path.c_str(), R_OK | X_OK) != 0) failed = {errno, std::generic_category()};
  if (failed && type != fs::file_type::not_found)
    throw io::system_error(path, "cannot be read", failed.value(), "check the path and its permissions");
  return folder;
}

/// The components named in model_index.json whose folder is missing, of those that are read here (a safety
/// checker is not).
std::vector<std::string> missing_components(const fs::path& folder, const io::Config& index) {
  const std::vector<std::string> read = component_names();
  std::vector<std::string> names;
  for (const auto& [name, entry] : index.json().items())
    if (entry.is_array() && entry.size() == 2 && entry[1].is_string() &&
        std::ranges::find(read, name) != read.end() && !is_folder(folder / name))
      names.push_back(io::printable(name));
  return names;
}

/// The number of parameters: scales do not count, and packed weights count by the values they hold. Tensors
/// in unknown layouts count by their elements as stored.
std::int64_t parameters_of(const io::ComponentSource& source) {
  std::int64_t parameters = 0;
  try {
    const weights::WeightTensors weights(source, "");
    for (const auto& [name, weight] : weights.all()) parameters += weight.shape.elements();
  } catch (const InputError&) {
    for (const io::TensorEntry* entry : source.tensors()) parameters += entry->shape.elements();
  }
  return parameters;
}

void add_weights(InspectedComponent& component, const io::ComponentSource& source) {
  component.has_weights = true;
  component.parameters = parameters_of(source);
  for (const io::TensorEntry* entry : source.tensors()) {
    const auto bytes = static_cast<std::int64_t>(entry->bytes.size());
    component.tensors.push_back({entry->name, std::string(entry->dtype.info.name), entry->shape, bytes});
    DtypeShare& share = component.dtypes[std::string(entry->dtype.info.name)];
    ++share.tensors;
    share.parameters += entry->shape.elements();
    share.bytes += bytes;
    component.bytes += bytes;
  }
  for (const io::TensorFile& file : source.files())
    component.files.push_back(file.path().filename().string());
}

bool holds_weights(const fs::path& folder) { return io::find_weights(folder).has_value(); }

std::string class_of(const nlohmann::json& config) {
  for (const char* key : {"_class_name", "tokenizer_class"})
    if (const auto found = config.find(key); found != config.end() && found->is_string())
      return found->get<std::string>();
  if (const auto found = config.find("architectures");
      found != config.end() && found->is_array() && !found->empty() && found->front().is_string())
    return found->front().get<std::string>();
  return {};
}

void add_config(InspectedComponent& component, const fs::path& file) {
  const bool of_scheduler = file.filename() == "scheduler_config.json";
  component.config = (of_scheduler ? sampling::load_scheduler_keys(file) : io::Config::load(file)).json();
  component.class_name = io::printable(class_of(component.config));
  for (const families::Family* family : families::all_families()) {
    component.accounting = family->account(component.class_name, file);
    if (!component.accounting) continue;
    component.family = family;
    if (!component.has_weights) component.parameters = component.accounting->parameters;
    return;
  }
}

InspectedComponent read_folder(const fs::path& folder, const std::string& name) {
  InspectedComponent component;
  component.name = io::printable(name);
  if (holds_weights(folder)) add_weights(component, io::ComponentSource(folder));
  for (const char* file : {"config.json", "scheduler_config.json", "tokenizer_config.json"})
    if (io::is_there(folder / file)) {
      add_config(component, folder / file);
      break;
    }
  if (component.files.empty()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      component.files.push_back(io::printable(entry.path().filename().string()));
    std::sort(component.files.begin(), component.files.end());
    component.is_checkpoint = io::find_checkpoint(folder).has_value();
  }
  return component;
}

/// "transformer", "unet"
std::string denoiser_name(const families::Family& family) {
  return std::string(
      std::ranges::find(family.components(), families::Role::denoiser, &families::ComponentInfo::role)->name);
}

/// For a model with a missing component or missing weights: the bytes of the denoiser's weights alone under
/// a policy.
families::MemoryEstimate denoiser_weights(const InspectedComponent& denoiser, const PolicyChoice& choice) {
  const double bytes = static_cast<double>(denoiser.parameters) * families::bytes_per_value(choice);
  return {{{denoiser_name(*denoiser.family), static_cast<std::int64_t>(bytes), 0}}};
}

/// Whether a folder has weights for every component that the family requires. If several components share a
/// role, such as Stable Diffusion's text encoders, those that the model has count.
bool is_complete(const Inspection& inspection, const families::Family& family) {
  if (inspection.kind != "model") return false;
  const auto of_family = family.components();
  return std::ranges::all_of(of_family, [&](const families::ComponentInfo& part) {
    const auto stands_for_it = [&](const InspectedComponent& component) {
      return std::ranges::any_of(of_family, [&](const families::ComponentInfo& other) {
        return other.role == part.role && other.name == component.name && component.has_weights;
      });
    };
    const auto lacks_it = [&](const InspectedComponent& component) {
      return component.name == part.name && !component.has_weights;
    };
    return std::ranges::any_of(inspection.components, stands_for_it) &&
           std::ranges::none_of(inspection.components, lacks_it) &&
           std::ranges::find(inspection.missing, part.name) == inspection.missing.end();
  });
}

/// The memory for a picture of the model's default size, with its own sampler or another.
families::MemoryEstimate estimate_of(const families::Pipeline& pipeline,
                                     const std::optional<std::string>& sampler) {
  families::Request request;
  request.prompts = {""};
  request.sampler = sampler;
  try {
    return pipeline.estimate(request);
  } catch (const families::RequestError&) {  // an inpainting model requires an initial picture
    constexpr std::size_t bytes_of_a_pixel = 3;
    request.image = request.mask = image::Image{1, 1, std::vector<std::uint8_t>(bytes_of_a_pixel)};
    return pipeline.estimate(request);
  }
}

void add_estimates(Inspection& inspection) {
  const auto denoiser = std::find_if(inspection.components.begin(), inspection.components.end(),
                                     [](const auto& component) { return component.accounting.has_value(); });
  if (denoiser == inspection.components.end()) return;
  const bool complete = is_complete(inspection, *denoiser->family);
  inspection.memory_note = complete
                               ? "weights and results of ops at the model's own size, one component at a time"
                               : "the " + denoiser_name(*denoiser->family) + "'s weights alone";
  std::optional<std::string> sampler;
  for (const NamedPreset& preset : families::all_presets()) {
    if (!complete) {
      inspection.memory.push_back({std::string(preset.name), denoiser_weights(*denoiser, preset.choice)});
    } else if (families::added_preset(preset.choice)
                   ? families::has_models(*denoiser->family, families::cpu_backend(), preset.choice)
                   : path_compiled(preset.choice)) {
      const auto pipeline = denoiser->family->open(
          inspection.path, families::ComponentChoices::all(preset.choice), families::cpu_backend());
      const auto estimate = [&] {
        inspection.memory.push_back({std::string(preset.name), estimate_of(*pipeline, sampler)});
      };
      try {
        estimate();
      } catch (const sampling::SamplerNotHere&) {
        sampler = sampling::sampler_name(sampling::SamplerKind::ddim);
        inspection.memory_note += ", with ddim, as its own sampler is not supported";
        estimate();
      }
    }
  }
}

void add_memory(Inspection& inspection) {
  try {
    add_estimates(inspection);
  } catch (const InputError& wrong) {  // generate's error; the files' contents are known all the same
    inspection.memory.clear();
    inspection.problem = wrong.what();
  }
}

Inspection inspect_file(const fs::path& path) {
  Inspection inspection{path, "file", {}, {}, {}, {}, {}};
  InspectedComponent component;
  const std::string file_name = path.filename().string();
  component.name = io::printable(path.stem().string());
  if (file_name.ends_with(".json") && !file_name.ends_with(".safetensors.index.json")) {
    inspection.kind = "component";
    add_config(component, path);
    if (component.class_name.empty())
      throw io::file_error(
          path, "names no class, as the config.json of a component does: give such a file, or weights");
    component.files.push_back(io::printable(file_name));
  } else {
    if (image::is_picture(io::MappedFile(path).bytes()))
      throw io::file_error(
          path, "is a picture: 'precast info' says how it was made, and inspect what is in models");
    const io::ComponentSource source(path);
    add_weights(component, source);
    inspection.file = facts_of(source);
  }
  inspection.components.push_back(std::move(component));
  return inspection;
}

}  // namespace

Inspection inspect(const fs::path& path) {
  if (!io::is_there(path))
    throw io::file_error(path, "does not exist: give a model folder, or a safetensors or GGUF file");
  if (!is_folder(path)) {
    Inspection inspection = inspect_file(path);
    add_memory(inspection);
    return inspection;
  }
  Inspection inspection{path, "model", {}, {}, {}, {}, {}};
  for (const std::string& name : component_names())
    if (is_folder(path / name)) inspection.components.push_back(read_folder(path / name, name));
  if (inspection.components.empty()) {
    if (!holds_weights(path) && !io::is_there(path / "config.json"))
      throw io::file_error(path,
                           "holds no model: neither components such as transformer/, nor a config.json, nor "
                           "weights in safetensors form");
    inspection.kind = "component";
    const fs::path whole = fs::absolute(path).lexically_normal();
    inspection.components.push_back(
        read_folder(path, (whole.has_filename() ? whole : whole.parent_path()).filename().string()));
  } else if (io::is_there(path / "model_index.json")) {
    inspection.missing = missing_components(path, io::Config::load(path / "model_index.json"));
  }
  add_memory(inspection);
  return inspection;
}

}  // namespace precast::cli
