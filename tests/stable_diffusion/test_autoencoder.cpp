// The VAE of each tiny model alone against diffusers' in f32: folders of all releases, and single files.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/models.hpp>
#include <image/tensor_image.hpp>
#include <sampling/torch_random.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/pipeline.hpp>
#include <support/arrays.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/skip.hpp>
#include <support/stable_diffusion.hpp>

#include <precast/watch/trace.hpp>

using namespace precast;
using namespace precast::testing;
using stable_diffusion::ComponentWeights;

namespace {

vae::AutoencoderConfig config_of(const std::string& folder) {
  return vae::AutoencoderConfig::load(stable_diffusion_model(folder) / "vae/config.json");
}

/// [1, h, w, channels] out of the golden file's channels first.
HostTensor<f32> picture(const Golden& golden, const std::string& name) {
  const HostTensor<f32> values = golden.channels_last(name);
  const auto sizes = values.shape().sizes();
  HostTensor<f32> one(Shape{1, sizes[0], sizes[1], sizes[2]});
  std::ranges::copy(values.values(), one.data());
  return one;
}

/// A picture four times as high and four times as wide, of sixteen times the same.
HostTensor<f32> sixteen_times(const HostTensor<f32>& one) {
  const std::int64_t height = one.shape()[1], row = one.shape()[2] * one.shape()[3];
  HostTensor<f32> all(Shape{1, 4 * height, 4 * one.shape()[2], one.shape()[3]});
  for (std::int64_t i = 0; i < 16 * height; ++i)
    std::ranges::copy(
        one.values().subspan(static_cast<std::size_t>(i / 4 % height * row), static_cast<std::size_t>(row)),
        all.data() + i * row);
  return all;
}

/// How many ops a run takes.
template <class Run>
std::size_t ops_of(Run&& run) {
  watch::Trace trace;
  const watch::Watching watching(trace);
  run();
  return trace.records().size();
}

/// The paths of all ops of a run.
template <class Run>
std::set<std::string> paths_of(Run&& run) {
  watch::Trace trace;
  {
    const watch::Watching watching(trace);
    run();
  }
  std::set<std::string> paths;
  for (const watch::OpRecord& record : trace.records()) paths.insert(record.path);
  return paths;
}

}  // namespace

TEST_CASE("Stable Diffusion's VAE decodes as diffusers' does, out of folders and single files") {
  const Golden golden("stable_diffusion");
  for (const std::string folder : stable_diffusion_folders)
    for (const bool single : {false, true}) {
      const std::filesystem::path file = stable_diffusion_model(folder + ".safetensors");
      if (single && !std::filesystem::exists(file)) continue;
      INFO(folder << (single ? ", a single file" : ""));
      const ComponentWeights weights(single ? file : stable_diffusion_model(folder) / "vae", "vae");
      for (const PolicyChoice& choice : f32_choices()) {
        const auto decoder =
            flux::models_of(families::cpu_backend(), choice).decoder(config_of(folder), weights);
        const HostTensor<f32> image = decoder->decode(picture(golden, folder + ".vae.latents"));
        CHECK(relative_error(image.values(), golden.channels_last(folder + ".vae.image").values()) <=
              largest_error);
      }
    }
}

TEST_CASE("Stable Diffusion's VAE encodes as diffusers' does, and a sample of it is diffusers'") {
  const Golden golden("stable_diffusion");
  for (const std::string folder : stable_diffusion_folders) {
    INFO(folder);
    const ComponentWeights weights(stable_diffusion_model(folder) / "vae", "vae");
    const vae::AutoencoderConfig config = config_of(folder);
    const auto encoder =
        flux::models_of(families::cpu_backend(), f32_choices().front()).encoder(config, weights);
    const Shape& sizes = golden.shape(folder + ".vae.image_u8");
    const std::vector<std::uint8_t> rgb = golden.bytes(folder + ".vae.image_u8");
    HostTensor<f32> pixels(Shape{1, sizes[0], sizes[1], 3});
    std::ranges::transform(rgb, pixels.data(),
                           [](std::uint8_t value) { return static_cast<f32>(value) / 255.0f * 2.0f - 1.0f; });
    const vae::Moments moments = encoder->encode(pixels);
    CHECK(relative_error(moments.mean.values(), golden.channels_last(folder + ".vae.mean").values()) <=
          largest_error);
    const HostTensor<f32> drawn = sampling::TorchGenerator(11).randn<f32>(golden.shape(folder + ".vae.mean"));
    const HostTensor<f32> expected = golden.channels_last(folder + ".vae.sample");
    HostTensor<f32> log_variance = moments.log_variance.clone(), sample(expected.shape());
    const std::int64_t channels = config.latent_channels, latents = drawn.elements() / channels;
    for (std::int64_t i = 0; i < sample.elements(); ++i) {
      f32& log = log_variance.data()[i];
      log = std::clamp(log, -30.0f, 20.0f);
      const f32 noise = drawn.data()[i % channels * latents + i / channels];
      sample.data()[i] =
          (moments.mean.data()[i] + std::exp(0.5f * log) * noise) * static_cast<f32>(config.scaling_factor);
    }
    CHECK(relative_error(log_variance.values(), golden.channels_last(folder + ".vae.logvar").values()) <=
          largest_error);
    CHECK(relative_error(sample.values(), expected.values()) <= largest_error);
  }
}

TEST_CASE("Stable Diffusion's VAE in bands of rows gives what it gives of the whole, to rounding") {
  const Golden golden("stable_diffusion");
  for (const std::string folder : stable_diffusion_folders) {
    const ComponentWeights weights(stable_diffusion_model(folder) / "vae", "vae");
    const vae::AutoencoderConfig config = config_of(folder);
    for (const PolicyChoice& choice : f32_choices()) {
      const flux::Models& models = flux::models_of(families::cpu_backend(), choice);
      const HostTensor<f32> latents = picture(golden, folder + ".vae.latents");
      const auto expected = golden.channels_last(folder + ".vae.image");
      const auto whole = models.decoder(config, weights)->decode(latents);
      const auto of_pixels = models.encoder(config, weights)->encode(whole);
      // Bands of 2 rows of the finest level and more of the others; of 5, which leave a last one of fewer.
      for (const std::int64_t rows : {2, 5}) {
        INFO(folder << ", bands of " << rows << " rows");
        const vae::Tiling bands{rows * whole.shape()[2]};
        const auto tiled = models.decoder(config, weights)->decode(latents, bands);
        CHECK(relative_error(tiled.values(), expected.values()) <= largest_error);
        f32 largest = 0;
        for (std::int64_t i = 0; i < tiled.elements(); ++i)
          largest = std::max(largest, std::abs(tiled.data()[i] - whole.data()[i]));
        CHECK(largest < 2.0f / 255 / 100);  // a hundredth of an 8-bit level, anywhere
        const auto moments = models.encoder(config, weights)->encode(whole, bands);
        CHECK(relative_error(moments.mean.values(), of_pixels.mean.values()) <= largest_error);
        CHECK(relative_error(moments.log_variance.values(), of_pixels.log_variance.values()) <=
              largest_error);
      }
    }
  }
}

TEST_CASE("bands of rows have the bits of the whole picture, under every policy", "[many_runs]") {
  const Golden golden("stable_diffusion");
  for (const std::string folder : stable_diffusion_folders) {
    const ComponentWeights weights(stable_diffusion_model(folder) / "vae", "vae");
    const vae::AutoencoderConfig config = config_of(folder);
    const HostTensor<f32> latents = sixteen_times(picture(golden, folder + ".vae.latents"));
    for (const PolicyChoice& choice : compiled_choices()) {
      const flux::Models& models = flux::models_of(families::cpu_backend(), choice);
      const auto decoder = models.decoder(config, weights);
      const auto encoder = models.encoder(config, weights);
      const HostTensor<f32> whole = decoder->decode(latents);
      const vae::Moments of_whole = encoder->encode(whole);
      // Convolutions of fewer than 1024 pixels may add in another order: bands have half of these at least.
      for (const std::int64_t pixels : {2048, 5000}) {
        INFO(folder << " under " << to_string(choice) << ", bands of " << pixels << " pixels");
        const vae::Tiling bands{pixels};
        CHECK(same_bits(decoder->decode(latents, bands), whole));
        const vae::Moments moments = encoder->encode(whole, bands);
        CHECK(same_bits(moments.mean, of_whole.mean));
        CHECK(same_bits(moments.log_variance, of_whole.log_variance));
      }
    }
    // Bands are what ran.
    if (!watch::compiled) continue;
    const flux::Models& models = flux::models_of(families::cpu_backend(), compiled_choices().front());
    const auto decoder = models.decoder(config, weights);
    const auto encoder = models.encoder(config, weights);
    const HostTensor<f32> whole = decoder->decode(latents);
    const vae::Tiling bands{2048};
    INFO(folder);
    CHECK(ops_of([&] { decoder->decode(latents, bands); }) > ops_of([&] { decoder->decode(latents); }));
    CHECK(ops_of([&] { encoder->encode(whole, bands); }) > ops_of([&] { encoder->encode(whole); }));
  }
}

TEST_CASE("bands of rows are reported under the names that ops of the whole picture have") {
  if (!watch::compiled) return skip("this build cannot watch ops");
  const Golden golden("stable_diffusion");
  const ComponentWeights weights(stable_diffusion_model("sd15") / "vae", "vae");
  const vae::AutoencoderConfig config = config_of("sd15");
  const flux::Models& models = flux::models_of(families::cpu_backend(), f32_choices().front());
  const HostTensor<f32> latents = picture(golden, "sd15.vae.latents");
  const auto decoder = models.decoder(config, weights);
  const auto encoder = models.encoder(config, weights);
  const HostTensor<f32> image = decoder->decode(latents);
  const vae::Tiling bands{2 * image.shape()[2]};
  const auto whole = paths_of([&] { decoder->decode(latents); });
  CHECK(whole.contains("vae.decoder.up_blocks.0.upsamplers.0.conv"));
  CHECK(paths_of([&] { decoder->decode(latents, bands); }) == whole);
  CHECK(paths_of([&] { encoder->encode(image, bands); }) == paths_of([&] { encoder->encode(image); }));
}

TEST_CASE("an XL model's latents have the means and deviations of its VAE's config, where it has them") {
  const std::vector<double> means{-1.5, 0.25, 0.5, 2}, deviations{2, 0.5, 1.25, 3};
  const families::ComponentChoices choices = families::ComponentChoices::all(f32_choices().front());
  for (const std::string folder : {"sdxl", "sd15"}) {
    INFO(folder);
    const DamagedFolder changed(stable_diffusion_model(folder));
    changed.set("vae/config.json", "latents_mean", means);
    changed.set("vae/config.json", "latents_std", deviations);
    const stable_diffusion::StableDiffusionPipeline with(changed.path(), choices),
        without(stable_diffusion_model(folder), choices);
    families::Request request;
    request.prompts = {"a circle"};
    request.steps = 1;
    request.width = request.height = 64;
    const families::Result result = with.generate(request), plain = without.generate(request);
    CHECK(std::ranges::equal(result.latents.values(), plain.latents.values()));
    CHECK((result.images.front() == plain.images.front()) == (folder == "sd15"));  // as in diffusers
    if (folder == "sd15") continue;
    const Shape& drawn = result.latents.shape();
    const std::int64_t pixels = drawn[2] * drawn[3];
    HostTensor<f32> latents(Shape{1, drawn[2], drawn[3], drawn[1]});
    for (std::int64_t channel = 0; channel < drawn[1]; ++channel)
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const auto c = static_cast<std::size_t>(channel);
        latents.data()[pixel * drawn[1] + channel] = result.latents.data()[channel * pixels + pixel] *
                                                         static_cast<f32>(deviations[c]) /
                                                         static_cast<f32>(config_of(folder).scaling_factor) +
                                                     static_cast<f32>(means[c]);
      }
    const ComponentWeights weights(stable_diffusion_model(folder) / "vae", "vae");
    const auto decoder =
        flux::models_of(families::cpu_backend(), f32_choices().front()).decoder(config_of(folder), weights);
    CHECK(image::to_images(decoder->decode(latents)).images.front() == result.images.front());
    // What is encoded and decoded again is the picture, whatever the latents between are.
    request.image = plain.images.front();
    request.strength = 0;
    const image::Image kept = with.generate(request).images.front(),
                       expected = without.generate(request).images.front();
    for (std::size_t i = 0; i < kept.rgb.size(); ++i) REQUIRE(std::abs(kept.rgb[i] - expected.rgb[i]) <= 1);
  }
}

TEST_CASE("a VAE's config of a first release has the scale that Stable Diffusion was trained with") {
  const vae::AutoencoderConfig config = config_of("sd15");
  CHECK(config.scaling_factor == 0.18215);
  CHECK(config.shift_factor == 0);
  CHECK(config.use_quant_conv);
  CHECK(config.use_post_quant_conv);
  CHECK(config.mid_block_add_attention);
  CHECK(config_of("sdxl").scaling_factor == 0.13025);
}
