// Two predictions a step, and a step along their extrapolation past that of the prompt.
#include <flux/negative_prompt.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::flux {

void denoise_away_from(const Transformer& transformer, HostView<f32> latents, const TransformerInput& input,
                       const NegativePrompt& negative, std::span<const DenoiseStep> steps,
                       const BeforeStep& before_step) {
  TransformerInput wanted = input;
  wanted.latents = latents;
  const auto scale = static_cast<f32>(negative.scale);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    before_step(static_cast<std::int64_t>(i));
    wanted.timestep = steps[i].timestep;
    TransformerInput unwanted = wanted;
    unwanted.prompt = negative.prompt;
    unwanted.pooled = negative.pooled;
    const HostTensor<f32> to = transformer.velocity(wanted), from = transformer.velocity(unwanted);
    for (std::int64_t at = 0; at < latents.elements() && !DryRun::active(); ++at) {
      const f32 velocity = from.data()[at] + scale * (to.data()[at] - from.data()[at]);
      latents.data()[at] += steps[i].distance * velocity;
    }
  }
}

}  // namespace precast::flux
