// Weights that are changed as they are loaded: the denoiser's of a request's model, and no other component's.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <families/registry.hpp>
#include <support/golden_requests.hpp>
#include <support/stable_diffusion.hpp>

#include <precast/nn/parameter_source.hpp>

using namespace precast;

TEST_CASE("changed weights are the denoiser's: other components and a refiner load their own") {
  families::Request request;
  request.prompts = {"a"};
  request.steps = 4;
  std::vector<std::string> changed;
  request.change_weights = [&](const nn::ParameterSource& weights, const auto& load) {
    changed.push_back(weights.description());
    load(weights);
  };
  const auto check = [&](const std::filesystem::path& model, const char* denoiser) {
    INFO(model.string());
    changed.clear();
    families::open(model, families::ComponentChoices::all(testing::compiled_choices().front()),
                   families::cpu_backend())
        ->generate(request);
    REQUIRE(changed.size() == 2);  // by the estimate's dry run, and by the run
    for (const std::string& weights : changed)
      CHECK_THAT(weights, Catch::Contains((model / denoiser).string()));
  };
  request.width = request.height = 64;
  check(std::filesystem::path(PRECAST_SOURCE_DIR) / "reference_pipeline/shapes/model", "transformer");
  request.refiner = testing::stable_diffusion_model("refiner");
  request.refiner_start = 0.5;
  check(testing::stable_diffusion_model("sdxl"), "unet");
}
