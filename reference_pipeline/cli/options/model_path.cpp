// Finds the bundled models: in the prefix of an installed program, or through the link next to a built
// one.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <cli/options/arguments.hpp>
#include <cli/options/model_path.hpp>
#include <families/hub_cache.hpp>

#include <precast/io/config.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace fs = std::filesystem;

namespace {

/// A model that is shipped with the program.
struct BundledModel {
  std::string_view name, other_name;
  const char* variable;           ///< environment variable with another folder
  const char *installed, *built;  ///< paths relative to the program's folder
};

constexpr std::array bundled_models{
    BundledModel{"shapes", "shapes-flux", "PRECAST_SHAPES", PRECAST_MODELS_FROM_PROGRAM "/shapes",
                 "precast_models/model"},
    BundledModel{"shapes-sd", "shapes-sd", "PRECAST_SHAPES_SD", PRECAST_MODELS_FROM_PROGRAM "/shapes-sd",
                 "precast_models/model_sd"}};

const BundledModel* bundled_named(std::string_view name) {
  const auto found = std::ranges::find_if(bundled_models, [&](const BundledModel& model) {
    return name == model.name || name == model.other_name;
  });
  return found == bundled_models.end() ? nullptr : &*found;
}

fs::path folder_of(const BundledModel& model) {
  // A variable that is set must not be ignored silently.
  if (const char* chosen = std::getenv(model.variable); chosen && *chosen) {
    if (io::is_there(chosen)) return chosen;
    throw InputError(std::string("the environment variable ") + model.variable + " is " + io::shown(chosen) +
                     ", which does not exist: correct or unset it");
  }
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  const fs::path installed = (program / model.installed).lexically_normal(), built = program / model.built;
  for (const fs::path& place : {installed, built})
    if (fs::exists(place / "model_index.json", failed)) return place;
  throw InputError("the model " + std::string(model.name) + ", which comes with the program, is not in " +
                   io::shown(installed) + ": install it there, name its folder in " + model.variable +
                   ", or give another model");
}

}  // namespace

bool is_bundled(std::string_view name) { return bundled_named(name) != nullptr; }

fs::path named_model(const std::string& name) {
  if (const BundledModel* const bundled = bundled_named(name)) return folder_of(*bundled);
  return families::find_model(name);
}

fs::path model_path(const std::optional<std::string>& given) {
  if (given && given->empty()) throw UsageError("--model is empty: name a model folder, or leave it out");
  return given ? named_model(*given) : folder_of(bundled_models.front());
}

void add_component_options(CLI::App& command, ComponentFiles& files) {
  const auto add = [&](const std::string& option, const std::string& component, const std::string& what) {
    command
        .add_option_function<std::string>(
            option,
            [&files, option, component](const std::string& text) {
              if (text.empty())
                throw UsageError(option + " is empty: name a file or a folder, or leave it out");
              files[component] = text;
            },
            what)
        ->type_name("PATH");
  };
  add("--transformer", "transformer",
      "Take the transformer, of Stable Diffusion the UNet, from a safetensors or GGUF file, in diffusers' or "
      "its authors' names, or from a component's folder with its config; default: --model's");
  add("--text-encoder", "text_encoder",
      "Take CLIP from a file such as clip_l.safetensors, or from a folder; default: --model's");
  add("--text-encoder-2", "text_encoder_2",
      "Take T5's encoder, of Stable Diffusion XL OpenCLIP, from a file such as t5xxl_fp16.safetensors or "
      "a GGUF file, or from a folder; default: --model's");
  add("--vae", "vae",
      "Take the VAE from a file such as ae.safetensors, or from a folder with its config; default: "
      "--model's");
}

families::ModelFiles model_files(const std::optional<std::string>& given, const ComponentFiles& files) {
  families::ModelFiles model(model_path(given));
  for (const auto& [component, path] : files) {
    if (!io::is_there(path))
      throw io::file_error(path, "does not exist: correct the path of the " + component + "'s file");
    model.components.emplace(component, path);
  }
  return model;
}

std::string model_name(const fs::path& path, const std::optional<std::string>& given) {
  if (!given) return std::string(bundled_models.front().name);
  if (const BundledModel* const bundled = bundled_named(*given)) return std::string(bundled->name);
  if (const auto name = families::hub_name(path)) return io::printable(*name);
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path folder = (whole.has_filename() ? whole : whole.parent_path()).filename();
  // A bare name would mean the bundled model.
  return (is_bundled(folder.string()) ? "./" : "") + io::printable(folder.string());
}

}  // namespace precast::cli
