// Configs: the same JSON as each component's.
#include <flux/transformer.hpp>
#include <fuzz/input_file.hpp>
#include <fuzz/target.hpp>
#include <language_model/config.hpp>
#include <sampling/flow_match_euler.hpp>
#include <sampling/sampler.hpp>
#include <sampling/scheduler_config.hpp>
#include <stable_diffusion/unet.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

namespace precast::testing {

void fuzz_config(std::span<const std::byte> input) {
  const InputFile file(input);
  const auto path = file.path();
  answer_or_refusal([&] { flux::TransformerConfig::load(path); });
  answer_or_refusal([&] { stable_diffusion::UNetConfig::load(path); });
  answer_or_refusal([&] { language_model::LanguageModelConfig::load(path); });
  answer_or_refusal([&] { text::ClipConfig::load(path); });
  answer_or_refusal([&] { text::T5Config::load(path); });
  answer_or_refusal([&] { vae::AutoencoderConfig::load(path); });
  answer_or_refusal([&] {
    const auto settings = sampling::FlowMatchSettings::load(path);
    answer_or_refusal([&] { sampling::sigmas(settings, 4, 16); });
  });
  for (const sampling::SamplerKind kind : sampling::sampler_kinds())
    answer_or_refusal([&] {
      const auto settings = sampling::SchedulerConfig::load(path).settings(kind);
      for (const int steps : {1, 4, 20})
        answer_or_refusal([&] { sampling::Sampler(settings, {.steps = steps, .strength = 0.7}); });
    });
}

}  // namespace precast::testing
