// Folders unlike the tiny ones that are kept: other blocks, depths, latents and schedules
// (tests/golden/make_other_folders.py), which draw what diffusers draws.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <stable_diffusion/unet.hpp>
#include <stable_diffusion/unet_tensors.hpp>
#include <support/damaged_folder.hpp>
#include <support/generated_weights.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>

#include <precast/io/config.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using Shapes = std::map<std::string, Shape>;
using Files = std::map<std::string, Shapes>;  ///< a file's name, and which tensors are in it

/// Writes generated weights of a component.
void write_weights(const std::filesystem::path& folder, const std::string& prefix, const Files& files) {
  for (const auto& [file, shapes] : files) {
    RawTensors tensors;
    for (const auto& [name, shape] : shapes) {
      const std::vector<f32> values = generated_weight(prefix, name, shape);
      const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(f32));
      tensors[name] = {"F32", {shape.sizes().begin(), shape.sizes().end()}, bytes};
    }
    write_raw(folder / file, tensors);
  }
}

/// In one file, as diffusers names it.
Files in_one(const Shapes& shapes, const std::string& name = "diffusion_pytorch_model.safetensors") {
  return {{name, shapes}};
}

/// In three, with an index beside them.
Files in_shards(const std::filesystem::path& folder, const Shapes& shapes) {
  Files files;
  nlohmann::json where = nlohmann::json::object();
  int number = 0;
  for (const auto& [name, shape] : shapes) {
    const std::string file =
        "diffusion_pytorch_model-0000" + std::to_string(1 + number++ % 3) + "-of-00003.safetensors";
    files[file].emplace(name, shape);
    where[name] = file;
  }
  write_text(folder / "diffusion_pytorch_model.safetensors.index.json",
             nlohmann::json{{"metadata", {{"total_size", 1}}}, {"weight_map", where}}.dump());
  return files;
}

/// One of the folders, as make_other_folders.py writes it, but for how its weights are divided into files.
class OtherFolder {
 public:
  OtherFolder(const std::string& name, const nlohmann::json& facts)
      : folder_(stable_diffusion_model(facts["base"].get<std::string>())) {
    const nlohmann::json& configs = facts["configs"];
    folder_.edit("scheduler/scheduler_config.json",
                 [&](nlohmann::json& config) { config = configs["scheduler"]; });
    folder_.edit("model_index.json", [&](nlohmann::json& index) {
      index["scheduler"] = {"diffusers", facts["scheduler"]};
    });
    Shapes unet;
    const auto config =
        stable_diffusion::UNetConfig::from(io::Config(name + "/unet/config.json", configs["unet"]));
    for (const auto& [tensor, shape] : stable_diffusion::unet_tensors(config)) unet.emplace(tensor, shape);
    replace("unet", configs["unet"]);
    const std::filesystem::path place = folder_.path() / "unet";
    write_weights(place, name + ".unet",
                  name == "layer_by_layer" ? in_shards(place, unet)
                  : name == "no_middle"
                      ? in_one(unet, "diffusion_pytorch_model.fp16.safetensors")  // a variant's
                      : in_one(unet));
    if (!configs.contains("vae")) return;
    Shapes vae;
    for (const auto& [tensor, sizes] : facts["vae"].items())
      vae.emplace(tensor, Shape(sizes.get<std::vector<std::int64_t>>()));
    replace("vae", configs["vae"]);
    write_weights(folder_.path() / "vae", name + ".vae", in_one(vae));
  }

  std::filesystem::path path() const { return folder_.path(); }

 private:
  void replace(const std::string& part, const nlohmann::json& config) const {
    folder_.remove(part);
    std::filesystem::create_directory(folder_.path() / part);
    write_text(folder_.path() / part / "config.json", config.dump());
  }

  DamagedFolder folder_;
};

}  // namespace

TEST_CASE("folders with other blocks, depths, latents and files draw what diffusers draws") {
  const Golden golden("other_folders");
  const nlohmann::json folders = golden.fact("folders");
  CHECK(folders.size() >= 12);
  for (const auto& [name, facts] : folders.items()) {
    const OtherFolder folder(name, facts);
    const stable_diffusion::StableDiffusionPipeline pipeline(
        folder.path(), families::ComponentChoices::all(choices_in<f32>().front()));
    for (std::size_t number = 0; number < facts["cases"].size(); ++number) {
      const nlohmann::json& how = facts["cases"][number];
      INFO(name << ", case " << number << ": " << how.dump());
      const families::Result result = pipeline.generate(request_of(golden, how));
      const HostTensor<f32> expected = golden.tensor(name + "." + std::to_string(number));
      // With zero terminal SNR diffusers in f32 is farther than that from itself in f64.
      const double bound = std::max<double>(largest_error, how["f32_from_f64"].get<double>());
      CHECK(relative_error(result.latents.values(), expected.values()) <= bound);
    }
  }
}
