// bf16 and f16: no further from f32 than diffusers' own runs in these dtypes, by more than a tenth, over all
// cases together; and every policy that is compiled draws.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>

#include <precast/policy/paths.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// A rounded case with one of its seeds, and diffusers' own error there.
struct RoundedRun {
  std::string folder;
  families::Request request;
  double theirs;
};

template <class T>
std::vector<RoundedRun> rounded_runs(const Golden& golden) {
  const std::string dtype(dtype_traits<T>::name);
  const nlohmann::json cases = stable_diffusion_cases();
  std::vector<RoundedRun> runs;
  for (const auto& [name, how] : cases.items()) {
    if (!how["errors"].contains(dtype)) continue;
    runs.push_back({how["folder"], request_of(golden, how), how["errors"][dtype]});
    for (const auto& [seed, errors] : how["seeds"].items()) {
      runs.push_back({how["folder"], request_of(golden, how), errors[dtype]});
      runs.back().request.seed = std::stoull(seed);
    }
  }
  return runs;
}

/// Final latents of all runs under one policy.
std::vector<HostTensor<f32>> latents_of(std::span<const RoundedRun> runs, const PolicyChoice& choice) {
  std::map<std::string, stable_diffusion::StableDiffusionPipeline> pipelines;
  std::vector<HostTensor<f32>> latents;
  for (const RoundedRun& run : runs) {
    const auto [found, is_new] = pipelines.try_emplace(run.folder, stable_diffusion_model(run.folder),
                                                       families::ComponentChoices::all(choice));
    latents.push_back(found->second.generate(run.request).latents);
  }
  return latents;
}

/// The error of each run under each policy of a dtype from ours in f32, which is diffusers' to 1e-5, and
/// theirs.
template <class T>
void check_errors() {
  const Golden golden("stable_diffusion");
  const std::vector<RoundedRun> runs = rounded_runs<T>(golden);
  REQUIRE(runs.size() >= 8 * 8);  // cases, seeds
  std::vector<double> theirs;
  for (const RoundedRun& run : runs) theirs.push_back(run.theirs);
  const std::vector<HostTensor<f32>> exact = latents_of(runs, choices_in<f32>().front());
  for (const PolicyChoice& choice : choices_in<T>()) {
    const std::vector<HostTensor<f32>> rounded = latents_of(runs, choice);
    std::vector<double> ours;
    for (std::size_t i = 0; i < runs.size(); ++i)
      ours.push_back(relative_error(rounded[i].values(), exact[i].values()));
    const double ratio = root_mean_square(ours) / root_mean_square(theirs);
    CAPTURE(to_string(choice), ours, theirs, ratio);
    CHECK(ratio <= 1.1);
    CHECK(ratio > 0.05);  // not f32 under another name
  }
}

}  // namespace

// One run's error depends on the luck of its roundings: all cases and seeds count together, as the root of
// the mean square.
TEST_CASE("errors of Stable Diffusion in bf16 are at most 1.1 times diffusers' own") { check_errors<bf16>(); }
TEST_CASE("errors of Stable Diffusion in f16 are at most 1.1 times diffusers' own") { check_errors<f16>(); }

TEST_CASE("every preset draws with every kind of Stable Diffusion model") {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  for (const char* name : {"sd15_txt2img_own", "sd21_txt2img_own", "sdxl_txt2img_own", "refiner_img2img_own",
                           "inpaint_inpaint_own", "lcm_txt2img_own"})
    for (const NamedPreset& preset : named_presets) {
      if (!path_compiled(preset.choice)) continue;
      INFO(name << " under " << preset.name);
      const nlohmann::json& how = cases.at(name);
      families::Request request = request_of(golden, how);
      request.steps = 2;
      if (request.image) request.strength = 1;
      const families::Result result = open_stable_diffusion(how["folder"], preset.choice).generate(request);
      REQUIRE(result.images.size() == 1);
      CHECK(result.nan_values == 0);
      CHECK(std::ranges::all_of(result.latents.values(), [](f32 value) { return std::isfinite(value); }));
    }
}
