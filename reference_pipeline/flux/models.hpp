// Models: the loaders of a Flux model's components under one policy, on one backend.
#pragma once

#include <families/backend.hpp>
#include <flux/transformer.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

#include <precast/policy/choice.hpp>

namespace precast::flux {

struct Models {
  families::ComponentLoader<text::ClipTextModel, text::ClipConfig> clip;
  families::ComponentLoader<text::T5Encoder, text::T5Config> t5;
  families::ComponentLoader<BlockwiseTransformer, TransformerConfig> transformer;
  families::ComponentLoader<vae::Encoder, vae::AutoencoderConfig> encoder;
  families::ComponentLoader<vae::Decoder, vae::AutoencoderConfig> decoder;
};

/// Flux's models under a policy. Throws PathNotCompiled where a build leaves it out.
inline const Models& models_of(const families::Backend& backend, const PolicyChoice& choice) {
  return families::models_of<Models>(backend, choice);
}

}  // namespace precast::flux
