// The stages of a run, one after the other; latents are denoised and decoded.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <families/changed_weights.hpp>
#include <families/denoising_rounds.hpp>
#include <flux/latents.hpp>
#include <flux/models.hpp>
#include <flux/negative_prompt.hpp>
#include <flux/pipeline_parts.hpp>
#include <flux/unpadded_blocks.hpp>
#include <process/memory.hpp>
#include <sampling/flow_match_euler.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/watch/input_squares.hpp>

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
  const std::int64_t steps = std::ssize(steps_), taken = families::rounds_to_run(steps);
  const Prompt &prompt = prompts_[static_cast<std::size_t>(picture / full().batch)],
               &negative = prompts_.back();
  TransformerInput input;
  input.guidance = static_cast<f32>(full().guidance.value_or(0));
  input.rows = layout_.height / 2;
  input.columns = layout_.width / 2;
  input.prompt = prompt.embeddings;
  input.pooled = prompt.pooled;
  const HostView<f32> latents = packed(picture);
  // A preview or a state comes between two calls of the transformer's loop: the same steps either way.
  std::int64_t at_once = taken;
  if (given_.preview) at_once = std::min<std::int64_t>(given_.preview->every, at_once);
  if (recording_) at_once = std::min(recording_->every, at_once);
  for (std::int64_t done = 0; done < taken; done += at_once) {
    const std::int64_t next = std::min(done + at_once, taken);
    const auto run =
        std::span(steps_).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(next - done));
    const BeforeStep before_each = [&](std::int64_t step) { before_step(done + step); };
    if (recording_) {
      TransformerInput now = input;
      now.latents = latents;
      now.timestep = run.front().timestep;
      // Computed for the recording alone, not for the picture: its layer inputs are not counted.
      watch::InputSquares ignored;
      std::optional<watch::CountingInputSquares> elsewhere;
      if (watch::counted_input_squares()) elsewhere.emplace(ignored);
      recording_->take({transformer.state_before_blocks(now), picture, done, now.timestep});
    }
    std::optional<Tensor<f32>> before;
    if (given_.preview) before.emplace(latents.shape(), latents.values());
    if (full().negative)
      denoise_away_from(transformer, latents, input, {negative.embeddings, negative.pooled, full().cfg_scale},
                        run, before_each);
    else
      transformer.denoise(latents, input, run, before_each);
    if (!before) continue;
    const auto level = [&](std::int64_t step) { return levels_[static_cast<std::size_t>(step)]; };
    show_preview(previews, {{}, picture, next, steps},
                 [&] { return unpack(without_noise(*before, level(done), latents, level(next)), layout_); });
  }
}

}  // namespace precast::flux
