// Denoising away from a negative prompt: classifier-free guidance (Ho and Salimans 2022).
#pragma once

#include <span>

#include <flux/transformer.hpp>

namespace precast::flux {

/// A negative prompt as its encoders give it, and the guidance scale: 1 is without effect.
struct NegativePrompt {
  HostView<const f32> prompt;  ///< T5's [text tokens, joint_attention_dim]
  HostView<const f32> pooled;  ///< CLIP's [1, pooled_projection_dim]
  double scale = 1;
};

/// As Transformer::denoise, with the velocity negative + scale (positive - negative) of two predictions a
/// step, which are combined in f32 on the host.
void denoise_away_from(const Transformer& transformer, HostView<f32> latents, const TransformerInput& input,
                       const NegativePrompt& negative, std::span<const DenoiseStep> steps,
                       const BeforeStep& before_step);

}  // namespace precast::flux
