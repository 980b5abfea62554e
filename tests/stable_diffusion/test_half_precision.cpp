// bf16 and f16: no further from f32 than diffusers' own runs in these dtypes, by more than a tenth, over all
// cases together; and every policy that is compiled draws.
#include <cmath>
#include <map>
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

/// The error of each case with a golden run in that dtype: ours under a policy of it, and theirs.
template <class T>
void check_errors() {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  const std::string dtype(dtype_traits<T>::name);
  for (const PolicyChoice& choice : choices_in<T>()) {
    std::vector<double> ours, theirs;
    for (const auto& [name, how] : cases.items()) {
      if (!how["errors"].contains(dtype)) continue;
      const auto pipeline = open_stable_diffusion(how["folder"], choice);
      const families::Result result = pipeline.generate(request_of(golden, how));
      ours.push_back(relative_error(result.latents.values(), golden.tensor(name + ".latents").values()));
      theirs.push_back(how["errors"][dtype]);
    }
    REQUIRE(ours.size() >= 8);
    // Cases' errors lie up to thirty times apart, and a root of the mean square would be the luck of the
    // largest alone: each case's ratio counts as much as any other's.
    double logarithms = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) logarithms += std::log(ours[i] / theirs[i]);
    const double ratio = std::exp(logarithms / static_cast<double>(ours.size()));
    CAPTURE(to_string(choice), ours, theirs, ratio);
    CHECK(ratio <= 1.1);
    CHECK(ratio > 0.05);  // not f32 under another name
  }
}

}  // namespace

// One run's error depends on the luck of its roundings: all cases count together.
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
