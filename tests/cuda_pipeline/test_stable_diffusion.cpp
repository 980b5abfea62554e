// The whole pipeline of Stable Diffusion with its components on the emulated device, against diffusers'
// goldens and the host.
#include <string>

#include <catch2/catch.hpp>
#include <cuda_pipeline/emulated_backend.hpp>
#include <cuda_pipeline/memory_of_runs.hpp>
#include <cuda_pipeline/same_ops.hpp>
#include <simt/session.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

families::Result run(const families::Backend& backend, const std::string& name, const PolicyChoice& choice) {
  const nlohmann::json how = stable_diffusion_cases().at(name);
  const stable_diffusion::StableDiffusionPipeline pipeline(
      stable_diffusion_model(how["folder"].get<std::string>()), families::ComponentChoices::all(choice),
      backend);
  return pipeline.generate(request_of(Golden("stable_diffusion"), how));
}

}  // namespace

TEST_CASE("on the emulated device Stable Diffusion is as close to diffusers as it must be on the host") {
  const Golden golden("stable_diffusion");
  for (const char* name : {"sd15_txt2img_own", "inpaint_inpaint_own_whole", "sd21_txt2img_own"})
    for (const PolicyChoice& choice : emulated_choices()) {
      const double error = relative_error(run(emulated_backend(), name, choice).latents.values(),
                                          golden.tensor(std::string(name) + ".latents").values());
      CAPTURE(name, to_string(choice), error);
      if (choice.precision == precision_of<f32>) {
        CHECK(error <= largest_error);
      } else {
        const std::string dtype(to_string(choice.precision));
        const double theirs = stable_diffusion_cases().at(name)["errors"][dtype];
        CHECK(error <= 2 * theirs);
        CHECK(error > 0.05 * theirs);  // not f32 under another name
      }
    }
}

TEST_CASE("on the emulated device Stable Diffusion paints and starts from pictures as diffusers does",
          "[many_runs]") {
  const Golden golden("stable_diffusion");
  for (const char* name :
       {"sd15_img2img_euler_a", "sd15_inpaint_dpmpp_2m", "lcm_txt2img_own", "sdxl_inpaint_euler_a_refined"})
    for (const PolicyChoice& choice : emulated_choices()) {
      if (choice.precision != precision_of<f32>) continue;
      const double error = relative_error(run(emulated_backend(), name, choice).latents.values(),
                                          golden.tensor(std::string(name) + ".latents").values());
      CAPTURE(name, to_string(choice), error);
      CHECK(error <= largest_error);
    }
}

TEST_CASE("on the emulated device a Stable Diffusion run has the same bits whatever the schedule") {
  for (const PolicyChoice& choice : emulated_choices()) {
    INFO(to_string(choice));
    const auto with = [&](std::uint64_t seed, simt::Copies copies) {
      simt::Options options;
      options.seed = seed;
      options.copies = copies;
      const simt::Session session(options);
      return run(emulated_backend(), "sd15_inpaint_ddim", choice);
    };
    const families::Result late = with(1, simt::Copies::late), early = with(2, simt::Copies::early);
    CHECK(same_bits(late.latents, early.latents));
    CHECK(late.images.front().rgb == early.images.front().rgb);
  }
}

TEST_CASE("a dry run takes the device's memory that Stable Diffusion takes", "[many_runs]") {
  for (const PolicyChoice& choice : emulated_choices())
    for (const char* name : {"sd15_txt2img_own", "sd15_img2img_ddim"}) {
      const nlohmann::json how = stable_diffusion_cases().at(name);
      const stable_diffusion::StableDiffusionPipeline pipeline(
          stable_diffusion_model("sd15"), families::ComponentChoices::all(choice), emulated_backend());
      INFO(to_string(choice) << ", " << name);
      check_estimate_of_run(pipeline, request_of(Golden("stable_diffusion"), how));
    }
}

TEST_CASE("the watch hook sees the same ops of a Stable Diffusion run on the emulated device as on the host",
          "[watch]") {
  check_same_ops([](const families::Backend& backend, const PolicyChoice& choice) {
    run(backend, "sd15_inpaint_ddim", choice);
  });
}
