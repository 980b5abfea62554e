// The loaders of Stable Diffusion's components, for one policy and backend.
#pragma once

#include <families/backend.hpp>
#include <stable_diffusion/denoiser.hpp>
#include <text/clip_text_model.hpp>
#include <vae/autoencoder.hpp>

#include <precast/policy/choice.hpp>

namespace precast::stable_diffusion {

struct Models {
  families::ComponentLoader<text::ClipTextModel, text::ClipConfig> clip;
  families::ComponentLoader<Denoiser, UNetConfig> denoiser;
  families::ComponentLoader<vae::Encoder, vae::AutoencoderConfig> encoder;
  families::ComponentLoader<vae::Decoder, vae::AutoencoderConfig> decoder;
};

/// The loaders for a policy. Throws PathNotCompiled if the build lacks it.
inline const Models& models_of(const families::Backend& backend, const PolicyChoice& choice) {
  return families::models_of<Models>(backend, choice);
}

}  // namespace precast::stable_diffusion
