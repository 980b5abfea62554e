// The whole pipeline in f32 against diffusers: from prompt and seed to final latents, by every sampler and
// for every task.
#include <string>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>

#include <precast/host/parallel.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("final latents of Stable Diffusion are diffusers', by every sampler and for every task") {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  for (const char* folder : stable_diffusion_folders)
    for (const PolicyChoice& choice : choices_in<f32>()) {
      const auto pipeline = open_stable_diffusion(folder, choice);
      int seen = 0;
      for (const auto& [name, how] : cases.items()) {
        if (how["folder"] != folder) continue;
        INFO(name << " under " << to_string(choice));
        const families::Result result = pipeline.generate(request_of(golden, how));
        const HostTensor<f32> expected = golden.tensor(name + ".latents");
        CHECK(result.latents.shape() == golden.shape(name + ".latents"));
        CHECK(result.images.size() == static_cast<std::size_t>(how.value("images", 1)));
        CHECK(relative_error(result.latents.values(), expected.values()) <= largest_error);
        ++seen;
      }
      CHECK(seen > 0);
    }
}

TEST_CASE("Stable Diffusion has the same bits by one thread and by two") {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  const int before = host::threads();
  for (const char* name : {"sd15_txt2img_euler_a", "sd15_inpaint_ddim", "sdxl_txt2img_own_refined",
                           "inpaint_inpaint_own", "lcm_txt2img_own"}) {
    INFO(name);
    const nlohmann::json& how = cases.at(name);
    const auto pipeline = open_stable_diffusion(how["folder"], choices_in<f32>().back());
    const auto with_threads = [&](int threads) {
      host::set_threads(threads);
      return pipeline.generate(request_of(golden, how));
    };
    const families::Result one = with_threads(1), two = with_threads(2);
    host::set_threads(before);
    CHECK(std::ranges::equal(one.latents.values(), two.latents.values()));
    CHECK(one.images.front().rgb == two.images.front().rgb);
  }
}
