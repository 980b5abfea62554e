// Flux's models for a policy on this translation unit's backend. Only kernels/ includes this.
#pragma once

#include <flux/models.hpp>
#include <flux/transformer_model.hpp>
#include <text/clip_text_model_template.hpp>
#include <text/t5_encoder_template.hpp>
#include <vae/autoencoder_template.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::flux {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
struct CompiledModels {
  static Models make() {
    return {.clip = text::make_clip_text_model<P>,
            .t5 = text::make_t5_encoder<P>,
            .transformer = make_transformer<P>,
            .encoder = vae::make_encoder<P>,
            .decoder = vae::make_decoder<P>};
  }
  /// The models of a path with Upcast<Conv>, from those of the path without it, so that components without
  /// convolutions are not compiled twice. Only the autoencoder has convolutions.
  static Models with_upcast_conv(Models others) {
    others.encoder = vae::make_encoder<P>;
    others.decoder = vae::make_decoder<P>;
    return others;
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::flux
