// Stable Diffusion's loaders for a policy on this translation unit's backend. Only kernels/ includes this.
#pragma once

#include <stable_diffusion/denoiser_template.hpp>
#include <stable_diffusion/models.hpp>
#include <text/clip_text_model_template.hpp>
#include <vae/autoencoder_template.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
struct CompiledModels {
  static Models make() {
    return {.clip = text::make_clip_text_model<P>,
            .denoiser = make_denoiser<P>,
            .encoder = vae::make_encoder<P>,
            .decoder = vae::make_decoder<P>};
  }
  /// The loaders for a path with Upcast<Conv>, from those of the path without it: CLIP has no convolutions,
  /// and is not compiled twice.
  static Models with_upcast_conv(Models others) {
    others.denoiser = make_denoiser<P>;
    others.encoder = vae::make_encoder<P>;
    others.decoder = vae::make_decoder<P>;
    return others;
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
