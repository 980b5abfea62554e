// Released models at full size, all their components, loaded without weights to count their memory.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <stable_diffusion/models.hpp>
#include <stable_diffusion/released_unets.hpp>
#include <stable_diffusion/unet_tensors.hpp>
#include <support/stable_diffusion_requests.hpp>

#include <precast/memory/dry_run.hpp>

using namespace precast;
using namespace precast::testing;
using stable_diffusion::UNetConfig;

namespace {

/// A text encoder, its published parameters, and which of its states the UNet looks at.
struct FullEncoder {
  std::int64_t hidden, intermediate, layers, heads, parameters;
  bool projects = false;
  text::ClipState state = text::last_state;

  text::ClipConfig config() const {
    text::ClipConfig config;
    config.hidden_size = config.projection_dim = hidden;
    config.intermediate_size = intermediate;
    config.num_hidden_layers = layers;
    config.num_attention_heads = heads;
    config.projects = projects;
    return config;
  }
};
constexpr FullEncoder clip_l{768, 3072, 12, 12, 123'060'480},
    clip_l_of_xl{768, 3072, 12, 12, 123'060'480, false, text::penultimate_state},
    openclip_h{1024, 4096, 23, 16, 340'387'840},
    openclip_bigg{1280, 5120, 32, 20, 694'659'840, true, text::penultimate_state};

struct FullModel {
  std::string_view name, unet;
  std::int64_t side;  ///< of latents
  std::vector<FullEncoder> encoders;
  std::int64_t time_ids = 0;
};
const std::vector<FullModel> full_models{{"1.5", "1.5", 64, {clip_l}},
                                         {"2.1-base", "2.1", 64, {openclip_h}},
                                         {"2.1", "2.1", 96, {openclip_h}},
                                         {"XL", "XL", 128, {clip_l_of_xl, openclip_bigg}, 6},
                                         {"XL, refiner", "XL, refiner", 128, {openclip_bigg}, 5}};

vae::AutoencoderConfig full_autoencoder() {
  vae::AutoencoderConfig config;
  config.block_out_channels = {128, 256, 512, 512};
  config.layers_per_block = 2;
  config.norm_num_groups = 32;
  config.latent_channels = 4;
  config.use_quant_conv = config.use_post_quant_conv = true;
  return config;
}

/// That weights of so many parameters are held in a dtype, but for the few that are held in f32.
void check_weights(std::string_view what, std::int64_t held, std::int64_t parameters,
                   const PolicyChoice& choice) {
  const auto bytes = static_cast<std::int64_t>(bytes_of(choice.precision));
  CAPTURE(what, held, parameters, to_string(choice));
  CHECK(held >= parameters * bytes);
  CHECK(held < parameters * bytes + parameters / 100);
}

std::vector<PolicyChoice> one_of_each_dtype() {
  return {choices_in<f32>().back(), choices_in<bf16>().back(), choices_in<f16>().back()};
}

}  // namespace

TEST_CASE("text encoders of released Stable Diffusion models are accounted for at full size") {
  const nn::AbsentParameters absent;
  const std::vector<std::int32_t> ids(77, 3);
  for (const FullModel& model : full_models)
    for (const FullEncoder& encoder : model.encoders)
      for (const PolicyChoice& choice : one_of_each_dtype()) {
        INFO(model.name);
        const DryRun dry;
        const auto loaded =
            stable_diffusion::models_of(families::cpu_backend(), choice).clip(encoder.config(), absent);
        const std::int64_t held = dry.in_use();
        check_weights("text encoder", held, encoder.parameters, choice);
        const text::ClipOutput output = loaded->encode(ids, encoder.state);
        CHECK(output.hidden_state.shape() == Shape{77, encoder.hidden});
        CHECK(output.pooled.shape() == Shape{1, encoder.hidden});
        CHECK(dry.peak() - held >=
              77 * encoder.intermediate * static_cast<std::int64_t>(bytes_of(choice.precision)));
      }
}

TEST_CASE("UNets of released Stable Diffusion models are accounted for at full size") {
  const nn::AbsentParameters absent;
  for (const FullModel& model : full_models) {
    const ReleasedUNet& released = released_unet(model.unet);
    const UNetConfig config = released.parsed();
    std::int64_t width = 0, widened = 0;
    for (const FullEncoder& encoder : model.encoders) width += encoder.hidden;
    CHECK(config.context_width == width);
    for (std::size_t i = 0; i < config.levels.size(); ++i)  // of GEGLU, where a level attends
      if (config.levels[i].attention_down)
        widened = std::max(widened, (model.side >> i) * (model.side >> i) * 8 * config.levels[i].channels);
    for (const PolicyChoice& choice : one_of_each_dtype()) {
      INFO(model.name);
      const DryRun dry;
      const auto denoiser =
          stable_diffusion::models_of(families::cpu_backend(), choice).denoiser(config, absent);
      const std::int64_t held = dry.in_use();
      check_weights("UNet", held, released.parameters, choice);
      const HostTensor<f32> context(Shape{77, width}), latents(Shape{1, model.side, model.side, 4}),
          pooled(Shape{1, model.encoders.back().hidden});
      stable_diffusion::Conditioning conditioning{.context = context.view()};
      if (config.text_time) {
        conditioning.pooled = pooled.view();
        conditioning.time_ids.assign(static_cast<std::size_t>(model.time_ids), 0.0f);
      }
      denoiser->unet().predict(latents.view(), 500, conditioning);
      CHECK(dry.peak() - held > widened * static_cast<std::int64_t>(bytes_of(choice.precision)));
    }
  }
}

TEST_CASE("the VAE of released Stable Diffusion models is accounted for at full size") {
  const nn::AbsentParameters absent;
  const vae::AutoencoderConfig config = full_autoencoder();
  for (const PolicyChoice& choice : one_of_each_dtype()) {
    const auto& models = stable_diffusion::models_of(families::cpu_backend(), choice);
    const auto bytes = static_cast<std::int64_t>(bytes_of(choice.precision));
    {
      const DryRun dry;
      const auto decoder = models.decoder(config, absent);
      const std::int64_t held = dry.in_use();
      check_weights("decoder", held, 49'490'199, choice);
      CHECK(decoder->decode(HostTensor<f32>(Shape{1, 64, 64, 4})).shape() == Shape{1, 512, 512, 3});
      CHECK(dry.peak() - held > 512 * 512 * 256 * bytes);  // what is enlarged last, if nothing else
    }
    const DryRun dry;
    const auto encoder = models.encoder(config, absent);
    const std::int64_t held = dry.in_use();
    check_weights("encoder", held, 34'163'664, choice);
    CHECK(encoder->encode(HostTensor<f32>(Shape{1, 512, 512, 3})).mean.shape() == Shape{1, 64, 64, 4});
    CHECK(dry.peak() - held > 512 * 512 * 128 * bytes);
  }
}
