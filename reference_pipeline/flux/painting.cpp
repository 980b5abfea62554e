// The stages of a run, one after the other; latents are denoised and decoded.
#include <memory>
#include <utility>

#include <families/changed_weights.hpp>
#include <flux/latents.hpp>
#include <flux/models.hpp>
#include <flux/pipeline_parts.hpp>
#include <flux/unpadded_blocks.hpp>
#include <process/memory.hpp>
#include <sampling/flow_match_euler.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::flux {

FluxPipeline::Run::Run(const Parts& parts, const ResolvedRequest& full, const Request& given,
                       const Reporter& progress, const families::Recording* recording)
    : families::Run(full, given, progress, recording), parts_(parts), layout_(parts.layout(full)) {
  result_.sampler = "Euler";
  const sampling::FlowMatchSettings& scheduler = parts.model.scheduler;
  levels_ = DryRun::active() ? std::vector<f32>(static_cast<std::size_t>(full.steps) + 1)
                             : sampling::sigmas(scheduler, full.steps, layout_.tokens());
  levels_.erase(levels_.begin(), levels_.begin() + Parts::first_step(full, given));
  for (std::size_t at = 0; at + 1 < levels_.size(); ++at)
    steps_.push_back({sampling::model_timestep<f32>(scheduler, levels_[at]), levels_[at + 1] - levels_[at]});
  process::give_back_memory();
  if (!steps_.empty()) prompts_ = encoded_prompts();
  result_.latents = initial_latents();
}

families::LoadedDenoiser FluxPipeline::Run::load_denoiser(std::int64_t /*number*/) {
  const std::shared_ptr<const BlockwiseTransformer> transformer =
      with_weights({"transformer", "load transformer"}, [&](const auto& source) {
        const TransformerConfig& config = parts_.model.transformer;
        const auto load = [&](const nn::ParameterSource& weights) {
          return models_of(parts_.backend, parts_.choices.denoiser).transformer(config, weights);
        };
        return given_.change_weights
                   ? families::load_changed(given_.change_weights, UnpaddedBlocks(source, config), load)
                   : load(source);
      });
  return {
      "denoise", std::ssize(steps_),
      [this, transformer](std::int64_t picture, const vae::Decoder* previews, const BeforeStep& before_step) {
        denoise(*transformer, picture, previews, before_step);
      }};
}

std::unique_ptr<vae::Decoder> FluxPipeline::Run::load_decoder() {
  return with_weights({"vae", "load VAE decoder"}, [&](const auto& source) {
    return models_of(parts_.backend, parts_.choices.vae).decoder(parts_.model.vae, source);
  });
}

HostView<f32> FluxPipeline::Run::packed(std::int64_t picture) {
  const Shape one{layout_.tokens(), layout_.token_channels()};
  return {result_.latents.data() + picture * one.elements(), one};
}

HostTensor<f32> FluxPipeline::Run::latents_of(std::int64_t picture) {
  return unpack(packed(picture), layout_);
}

HostTensor<f32> FluxPipeline::Run::unscaled(HostTensor<f32> latents) const {
  const vae::AutoencoderConfig& config = parts_.model.vae;
  return flux::unscaled(std::move(latents), static_cast<f32>(config.scaling_factor),
                        static_cast<f32>(config.shift_factor));
}

void FluxPipeline::Run::denoise(const BlockwiseTransformer& transformer, std::int64_t picture,
                                const vae::Decoder* previews, const BeforeStep& before_step) {
  const Prompt &prompt = prompts_[static_cast<std::size_t>(picture / full().batch)],
               &negative = prompts_.back();
  DenoiseInput input{{.latents = {},
                      .prompt = prompt.embeddings,
                      .pooled = prompt.pooled,
                      .guidance = static_cast<f32>(full().guidance.value_or(0)),
                      .rows = layout_.height / 2,
                      .columns = layout_.width / 2},
                     steps_};
  if (full().negative)
    input.negative = {negative.embeddings, negative.pooled, static_cast<f32>(full().cfg_scale)};
  input.recording = recording_of(picture);
  const auto level = [&](std::int64_t step) { return levels_[static_cast<std::size_t>(step)]; };
  input.latents_callback = preview_callback(
      previews, picture, std::ssize(steps_),
      [&](std::int64_t previous, HostView<const f32> before, std::int64_t step, HostView<const f32> now) {
        return unpack(without_noise(before, level(previous), now, level(step)), layout_);
      });
  transformer.denoise(packed(picture), input, before_step);
}

}  // namespace precast::flux
