// How a Stable Diffusion run goes: batches, seeds, previews, progress, memory, what stays as it is.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <families/registry.hpp>
#include <sampling/torch_random.hpp>
#include <stable_diffusion/latents.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/preview_seconds.hpp>
#include <support/stable_diffusion_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

families::Request request_of_case(const std::string& name) {
  return request_of(Golden("stable_diffusion"), stable_diffusion_cases().at(name));
}

std::span<const f32> picture(const families::Result& result, std::int64_t index) {
  const std::int64_t size = result.latents.elements() / result.latents.shape()[0];
  return result.latents.values().subspan(static_cast<std::size_t>(index * size),
                                         static_cast<std::size_t>(size));
}

}  // namespace

TEST_CASE("with a seed step, every Stable Diffusion picture is the one that its seed makes alone") {
  for (const char* name : {"sd15_txt2img_euler_a", "sd15_inpaint_euler_a", "inpaint_inpaint_own"}) {
    INFO(name);
    const auto pipeline =
        open_stable_diffusion(stable_diffusion_cases().at(name)["folder"], choices_in<f32>().front());
    families::Request request = request_of_case(name);
    request.steps = 2;
    request.batch = 2;
    request.seed_step = 5;
    const families::Result both = pipeline.generate(request);
    request.batch = 1;
    request.seed += 5;
    const families::Result second = pipeline.generate(request);
    CHECK(std::ranges::equal(picture(both, 1), second.latents.values()));
    CHECK(both.images[1].rgb == second.images[0].rgb);
    CHECK_FALSE(std::ranges::equal(picture(both, 0), picture(both, 1)));
  }
}

TEST_CASE("previews of Stable Diffusion come when they are asked for, and change nothing") {
  const auto pipeline = open_stable_diffusion("sd15", choices_in<f32>().front());
  for (const char* name : {"sd15_txt2img_dpmpp_2m", "sd15_txt2img_pndm", "sd15_inpaint_ddim"}) {
    INFO(name);
    families::Request request = request_of_case(name);
    const families::Result plain = pipeline.generate(request);
    std::vector<std::int64_t> steps;
    image::Image last;
    request.preview = families::PreviewRequest{2, true, [&](const families::Preview& preview) {
                                                 steps.push_back(preview.step);
                                                 last = preview.picture;
                                               }};
    const families::Result shown = pipeline.generate(request);
    CHECK(std::ranges::equal(plain.latents.values(), shown.latents.values()));
    REQUIRE(!steps.empty());
    CHECK(steps.back() == plain.steps);
    CHECK(steps.front() == 2);
    CHECK(last.rgb == plain.images.front().rgb);  // without noise left, the picture itself
    request.preview->vae = false;                 // by sums of channels
    CHECK(std::ranges::equal(plain.latents.values(), pipeline.generate(request).latents.values()));
    CHECK(last.width == *request.width);
    CHECK(last.rgb != plain.images.front().rgb);
  }
}

TEST_CASE("the seconds of denoising in Stable Diffusion are without those of previews") {
  families::Request request = request_of_case("sd15_txt2img_dpmpp_2m");
  request.steps = 2;
  check_preview_seconds(open_stable_diffusion("sd15", choices_in<f32>().front()), std::move(request));
}

TEST_CASE("strength 0 keeps the picture as the autoencoder has it, with no step") {
  const auto pipeline = open_stable_diffusion("sd15", choices_in<f32>().front());
  families::Request request = request_of_case("sd15_img2img_ddim");
  request.strength = 0;
  const families::Result result = pipeline.generate(request);
  CHECK(result.steps == 0);
  REQUIRE(result.images.size() == 1);
  request.sampler = "euler_a";
  request.steps = 7;
  CHECK(std::ranges::equal(pipeline.generate(request).latents.values(), result.latents.values()));
  for (std::uint8_t& level : request.image->rgb) level = static_cast<std::uint8_t>(255 - level);
  CHECK_FALSE(std::ranges::equal(pipeline.generate(request).latents.values(), result.latents.values()));
}

TEST_CASE("a refiner keeps the picture around a mask that the base's UNet took") {
  const DamagedFolder refiner(stable_diffusion_model("sd15"));  // takes no mask
  refiner.edit("vae/config.json", [](nlohmann::json& config) { config["scaling_factor"] = 0.2; });
  const auto pipeline = open_stable_diffusion("inpaint", choices_in<f32>().front());
  families::Request request = request_of_case("inpaint_inpaint_own");
  request.refiner = refiner.path();
  request.refiner_start = 0.6;
  const families::Result refined = pipeline.generate(request);
  request.refiner.reset();
  request.refiner_start.reset();
  request.strength = 0;
  const families::Result kept = pipeline.generate(request);
  const Shape& shape = kept.latents.shape();
  const stable_diffusion::LatentSize size{shape[1], shape[2], shape[3]};
  const HostTensor<f32> painted = stable_diffusion::latent_mask(stable_diffusion::painted(*request.mask),
                                                                size, *request.width / shape[3]);
  int around = 0, inside = 0;
  for (std::int64_t i = 0; i < kept.latents.elements(); ++i) {
    const bool anew = painted.data()[i % (shape[2] * shape[3])] > 0;
    const bool same = kept.latents.data()[i] == refined.latents.data()[i];
    CHECK(same != anew);
    (anew ? inside : around) += 1;
  }
  CHECK(around > 0);
  CHECK(inside > 0);
}

TEST_CASE("a latent consistency model paints as Stable Diffusion's inpainting pipeline does with it") {
  families::Request request = request_of_case("lcm_img2img_own");
  request.mask = image::Image{*request.width, *request.height, {}};
  request.mask->rgb.assign(request.image->rgb.size(), 0);
  std::fill_n(request.mask->rgb.begin(), request.mask->rgb.size() / 2, std::uint8_t{255});
  request.strength = 0.8;
  const DamagedFolder folder(stable_diffusion_model("lcm"));
  const auto painted = [&] {
    return stable_diffusion::StableDiffusionPipeline(
               folder.path(), families::ComponentChoices::all(choices_in<f32>().front()))
        .generate(request);
  };
  const families::Result own = painted();
  folder.edit("model_index.json",
              [](nlohmann::json& index) { index["_class_name"] = "StableDiffusionInpaintPipeline"; });
  const families::Result other = painted();
  CHECK(own.steps == other.steps);
  CHECK(std::ranges::equal(own.latents.values(), other.latents.values()));
}

TEST_CASE("a VAE that is given by itself decodes what a refiner ends with, in place of the refiner's") {
  const DamagedFolder other(stable_diffusion_model("sdxl"));
  other.change_tensors("vae/diffusion_pytorch_model.safetensors", [](RawTensors& tensors) {
    std::ranges::fill(tensors.at("decoder.conv_out.weight").bytes, '\0');
    std::ranges::fill(tensors.at("decoder.conv_out.bias").bytes, '\0');
  });
  families::Request request = request_of_case("sdxl_txt2img_own");
  request.refiner = stable_diffusion_model("refiner");
  const auto draw = [&](const families::ModelFiles& files) {
    return families::open(files, families::ComponentChoices::all(choices_in<f32>().front()),
                          families::cpu_backend())
        ->generate(request);
  };
  const families::ModelFiles replaced(stable_diffusion_model("sdxl"), {{"vae", other.path() / "vae"}});
  const families::Result without = draw(stable_diffusion_model("sdxl")), with = draw(replaced);
  CHECK(std::ranges::equal(with.latents.values(), without.latents.values()));
  const auto is_grey = [](std::uint8_t value) { return value == 128; };
  CHECK(std::ranges::all_of(with.images.front().rgb, is_grey));
  CHECK(!std::ranges::all_of(without.images.front().rgb, is_grey));
}

TEST_CASE("a mask whose pixels are too few to paint a latent is refused") {
  const stable_diffusion::LatentSize size{.channels = 4, .height = 2, .width = 3};
  std::vector<bool> pixels(std::size_t{16} * 24);
  const auto painted_latents = [&] {
    const auto mask = stable_diffusion::latent_mask(pixels, size, 8);
    return std::ranges::count(mask.values(), 1.0f);
  };
  CHECK(painted_latents() == 0);
  pixels[24 * 8 + 9] = pixels[24 * 15 + 23] = true;
  CHECK_THROWS_WITH(painted_latents(),
                    "the mask paints 2 pixels, and none that counts: of each 8 x 8 pixels, "
                    "which are one latent, the top left one decides; paint a larger area");
  pixels[24 * 8 + 16] = true;
  CHECK(painted_latents() == 1);
}

TEST_CASE("given latents are the noise that Stable Diffusion starts from") {
  const auto pipeline = open_stable_diffusion("sd15", choices_in<f32>().front());
  families::Request request = request_of_case("sd15_txt2img_euler");
  request.latents = sampling::TorchGenerator(request.seed)
                        .randn(Shape{1, 4, pipeline.generate(request).latents.shape()[2],
                                     pipeline.generate(request).latents.shape()[3]});
  const families::Result given = pipeline.generate(request);
  request.latents.reset();
  CHECK(std::ranges::equal(given.latents.values(), pipeline.generate(request).latents.values()));
}

TEST_CASE("a negative prompt acts where there is guidance, and \"\" is not none for XL") {
  const auto pipeline = open_stable_diffusion("sdxl", choices_in<f32>().front());
  families::Request request = request_of_case("sdxl_txt2img_own_no_negative");
  const families::Result none = pipeline.generate(request);
  request.negative = "";
  const families::Result empty = pipeline.generate(request);
  CHECK_FALSE(std::ranges::equal(none.latents.values(), empty.latents.values()));
  request.guidance = 1;
  CHECK_FALSE(pipeline.with_defaults(request).negative.has_value());
}

TEST_CASE("defaults of Stable Diffusion are those of diffusers' pipelines") {
  const auto defaults = [](const char* folder) {
    families::Request request;
    request.prompts = {"a"};
    if (std::string_view(folder) == "inpaint")
      request.image = request.mask = image::Image{8, 8, std::vector<std::uint8_t>(192)};
    return open_stable_diffusion(folder, choices_in<f32>().front()).with_defaults(request);
  };
  CHECK(defaults("sd15").steps == 50);
  CHECK(*defaults("sd15").guidance == 7.5);
  CHECK(*defaults("sdxl").guidance == 5.0);
  CHECK(*defaults("lcm").guidance == 8.5);
  CHECK(defaults("lcm").steps == 4);
  CHECK(*defaults("lcm").sampler == "lcm");
  CHECK(*defaults("sd15").sampler == "pndm");
  CHECK(*defaults("refiner").aesthetic_score == 6.0);
  CHECK(*defaults("refiner").negative_aesthetic_score == 2.5);
  CHECK_FALSE(defaults("sd15").aesthetic_score.has_value());
}

TEST_CASE("pictures that are decoded after all steps take no memory during them") {
  const auto pipeline = open_stable_diffusion("sdxl", choices_in<f32>().front());
  families::Request request = request_of_case("sdxl_txt2img_own_refined");  // two UNets: in stages
  const auto of_unet = [&](int batch) {
    request.batch = batch;
    const families::MemoryEstimate estimate = pipeline.estimate(request);
    const auto unet = std::ranges::find(estimate.components, "unet", &families::ComponentMemory::component);
    REQUIRE(unet != estimate.components.end());
    return unet->activations;
  };
  constexpr int more = 8;
  const std::int64_t picture_bytes = std::int64_t{3} * *request.width * *request.height;
  CHECK(of_unet(1 + more) - of_unet(1) < more * picture_bytes);  // they take their latents alone
}

TEST_CASE("Stable Diffusion's stages are reported in their order, and each comes to its end") {
  const auto pipeline = open_stable_diffusion("sdxl", choices_in<f32>().front());
  std::vector<std::string> order;
  std::map<std::string, families::Progress> last;
  pipeline.generate(request_of_case("sdxl_txt2img_own_refined"), [&](const families::Progress& at) {
    const std::string stage(at.stage);
    if (std::ranges::find(order, stage) == order.end()) order.push_back(stage);
    last[stage] = at;
  });
  CHECK(order == std::vector<std::string>{"load CLIP", "encode with CLIP", "load OpenCLIP",
                                          "encode with OpenCLIP", "load UNet", "denoise", "load refiner",
                                          "refine", "load VAE decoder", "decode"});
  for (const auto& [stage, at] : last) {
    INFO(stage);
    CHECK(at.done == at.total);
    CHECK(at.total > 0);
  }
}
