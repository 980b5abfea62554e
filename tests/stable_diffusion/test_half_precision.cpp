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

/// A rounded case with seed after seed, and diffusers' own error of each picture.
struct RoundedCase {
  std::string folder;
  families::Request request;
  std::vector<double> theirs;
};

template <class T>
std::vector<RoundedCase> rounded_cases(const Golden& golden) {
  const std::string dtype(dtype_traits<T>::name);
  const nlohmann::json all = stable_diffusion_cases();
  std::vector<RoundedCase> cases;
  for (const auto& [name, how] : all.items()) {
    if (!how["errors"].contains(dtype)) continue;
    RoundedCase& rounded = cases.emplace_back(RoundedCase{how["folder"], request_of(golden, how), {}});
    REQUIRE(rounded.request.batch == 1);
    rounded.theirs.push_back(how["errors"][dtype]);
    rounded.request.seed_step = 1;
    for (const auto& [seed, errors] : how["seeds"].items()) {
      REQUIRE(std::stoull(seed) == rounded.request.seed + rounded.theirs.size());
      rounded.theirs.push_back(errors[dtype]);
    }
    rounded.request.batch = static_cast<int>(rounded.theirs.size());
  }
  return cases;
}

/// Final latents of all cases under one policy: those of a case in one run, which loads its model once.
std::vector<Tensor<f32>> latents_of(std::span<const RoundedCase> cases, const PolicyChoice& choice) {
  std::map<std::string, stable_diffusion::StableDiffusionPipeline> pipelines;
  std::vector<Tensor<f32>> latents;
  for (const RoundedCase& rounded : cases) {
    const auto [found, is_new] = pipelines.try_emplace(rounded.folder, stable_diffusion_model(rounded.folder),
                                                       families::ComponentChoices::all(choice));
    latents.push_back(found->second.generate(rounded.request).latents);
  }
  return latents;
}

/// The error of each picture under each policy of a dtype from ours in f32, which is diffusers' to 1e-5, and
/// theirs.
template <class T>
void check_errors() {
  const Golden golden("stable_diffusion");
  const std::vector<RoundedCase> cases = rounded_cases<T>(golden);
  std::vector<double> theirs;
  for (const RoundedCase& rounded : cases)
    theirs.insert(theirs.end(), rounded.theirs.begin(), rounded.theirs.end());
  REQUIRE(theirs.size() >= 8 * 8);  // cases, seeds
  const std::vector<Tensor<f32>> exact = latents_of(cases, choices_in<f32>().front());
  for (const PolicyChoice& choice : choices_in<T>()) {
    const std::vector<Tensor<f32>> rounded = latents_of(cases, choice);
    std::vector<double> ours;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::size_t values = exact[i].values().size() / cases[i].theirs.size();
      for (std::size_t picture = 0; picture < cases[i].theirs.size(); ++picture)
        ours.push_back(relative_error(rounded[i].values().subspan(picture * values, values),
                                      exact[i].values().subspan(picture * values, values)));
    }
    const double ratio = root_mean_square(ours) / root_mean_square(theirs);
    CAPTURE(to_string(choice), ours, theirs, ratio);
    CHECK(ratio <= 1.1);
    CHECK(ratio > 0.05);  // not f32 under another name
  }
}

}  // namespace

// One run's error depends on the luck of its roundings: all cases and seeds count together, as the root of
// the mean square.
TEST_CASE("errors of Stable Diffusion in bf16 are at most 1.1 times diffusers' own", "[many_runs]") {
  check_errors<bf16>();
}
TEST_CASE("errors of Stable Diffusion in f16 are at most 1.1 times diffusers' own", "[many_runs]") {
  check_errors<f16>();
}

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
