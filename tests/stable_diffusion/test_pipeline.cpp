// The whole pipeline in f32 against diffusers: from prompt and seed to final latents, by every sampler and
// for every task.
#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/skip.hpp>
#include <support/stable_diffusion_requests.hpp>
#include <support/temporary_folder.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/watch/trace.hpp>

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

namespace {

/// What each half of a VAE multiplies in, by an image to image run.
struct VaeOperands {
  std::set<std::string> encoder, decoder;
};

VaeOperands vae_operands(const std::filesystem::path& folder, const PolicyChoice& choice) {
  families::Request request =
      request_of(Golden("stable_diffusion"), stable_diffusion_cases().at("sd21_img2img_ddim"));
  request.sampler.reset();
  request.steps = 1;
  request.strength = 1;
  request.width = request.height = 32;
  watch::Trace trace;
  {
    const watch::Watching watching(trace);
    stable_diffusion::StableDiffusionPipeline(folder, families::ComponentChoices::all(choice))
        .generate(request);
  }
  VaeOperands operands;
  for (const watch::OpRecord& record : trace.records())
    for (const auto& [half, places] :
         {std::pair(&operands.encoder, std::array{"vae.encoder.", "vae.quant_conv"}),
          std::pair(&operands.decoder, std::array{"vae.decoder.", "vae.post_quant_conv"})})
      for (const char* place : places)
        if (record.op == "Conv" && record.path.starts_with(place))
          half->insert(std::string(record.dtypes.operand));
  return operands;
}

}  // namespace

TEST_CASE("force_upcast of an XL model's VAE: f32 in place of f16, and of bf16 where it encodes", "[watch]") {
  if (!watch::compiled || choices_in<f32>().empty())
    return skip("this build cannot watch ops, or has no f32");
  // Diffusers' pipelines of 1.x and 2.x do not look at the key.
  const TemporaryFolder place;
  const std::filesystem::path not_xl = place.path() / "sd21";
  std::filesystem::copy(stable_diffusion_model("sd21"), not_xl, std::filesystem::copy_options::recursive);
  nlohmann::json config = nlohmann::json::parse(read_text(not_xl / "vae/config.json"));
  config["force_upcast"] = true;
  write_text(not_xl / "vae/config.json", config.dump());
  for (const auto& choices : {choices_in<f32>(), choices_in<bf16>(), choices_in<f16>()}) {
    if (choices.empty()) continue;
    const PolicyChoice& choice = choices.front();
    using Dtypes = std::set<std::string>;
    const std::string asked(to_string(choice.precision));
    INFO("asked for " << asked);
    for (const char* xl : {"refiner", "sdxl"}) {
      INFO(xl);
      const VaeOperands operands = vae_operands(stable_diffusion_model(xl), choice);
      CHECK(operands.encoder == Dtypes{"f32"});
      CHECK(operands.decoder == Dtypes{asked == "f16" ? "f32" : asked});
    }
    INFO("sd21");
    const VaeOperands operands = vae_operands(not_xl, choice);
    CHECK(operands.encoder == Dtypes{asked});
    CHECK(operands.decoder == Dtypes{asked});
  }
}

TEST_CASE("upcast_attention of a UNet is told of where its scores are in f16") {
  const TemporaryFolder place;
  const std::filesystem::path folder = place.path() / "sd21";
  std::filesystem::copy(stable_diffusion_model("sd21"), folder, std::filesystem::copy_options::recursive);
  const std::filesystem::path file = folder / "unet/config.json";
  nlohmann::json config = nlohmann::json::parse(read_text(file));
  for (const bool advised : {true, false}) {
    config["upcast_attention"] = advised;
    write_text(file, config.dump());
    for (const auto& choices : {choices_in<f32>(), choices_in<bf16>(), choices_in<f16>()})
      for (const PolicyChoice& choice : choices) {
        INFO(to_string(choice));
        const auto notes =
            stable_diffusion::StableDiffusionPipeline(folder, families::ComponentChoices::all(choice))
                .notes();
        const bool told = std::ranges::any_of(notes, [](const std::string& note) {
          return note.find("upcast_attention") != std::string::npos;
        });
        const bool in_f16 = choice.precision == precision_of<f16> && !choice.options.flash &&
                            !choice.options.upcast_attention;
        CHECK(told == (advised && in_f16));
      }
  }
}

TEST_CASE("what transformers attend to in a prompt is computed once for all steps", "[watch]") {
  const Golden golden("stable_diffusion");
  const auto pipeline = open_stable_diffusion("sd15", choices_in<f32>().back());
  families::Request request = request_of(golden, stable_diffusion_cases().at("sd15_txt2img_euler_a"));
  request.steps = 3;
  watch::Trace trace;
  {
    const watch::Watching watching(trace);
    pipeline.generate(request);
  }
  const auto times = [&](const std::string& end) {
    return std::ranges::count_if(trace.records(), [&](const auto& record) {
      return record.path.starts_with("unet.down_blocks.0.attentions.0.") && record.path.ends_with(end);
    });
  };
  CHECK(times("attn2.to_q") == 3);  // both prompts of guidance at once
  CHECK(times("attn2.to_k") == 1);
  CHECK(times("attn2.to_v") == 1);
  CHECK(times("attn1.to_k") == 3);
}
