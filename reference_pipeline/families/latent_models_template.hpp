// What LatentModels says, for a policy on this translation unit's backend. Only kernels/ includes this.
#pragma once

#include <memory>

#include <families/latent_models.hpp>
#include <text/clip_text_model_template.hpp>
#include <vae/autoencoder_template.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::families {

inline namespace PRECAST_BACKEND {

/// The autoencoder alone. `Models` is a family's, derived from LatentModels; what else it has, who derives
/// from this adds.
template <PolicyType P, class Models>
class CompiledAutoencoder : public Models {
 public:
  std::unique_ptr<vae::Decoder> decoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return vae::make_decoder<P>(config, source);
  }
  std::unique_ptr<vae::Encoder> encoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return vae::make_encoder<P>(config, source);
  }
};

/// CLIP as well.
template <PolicyType P, class Models>
class CompiledLatentModels : public CompiledAutoencoder<P, Models> {
 public:
  std::unique_ptr<text::ClipTextModel> clip(const text::ClipConfig& config,
                                            const nn::ParameterSource& source) const override {
    return text::make_clip_text_model<P>(config, source);
  }
};

/// CLIP, which has no convolutions, of `others`, the models under the same policy without Upcast<Conv>: what
/// has none is not compiled twice.
template <PolicyType P, class Models>
class ConvUpcastLatentModels : public CompiledAutoencoder<P, Models> {
 public:
  explicit ConvUpcastLatentModels(const Models& others) : others_(others) {}
  std::unique_ptr<text::ClipTextModel> clip(const text::ClipConfig& config,
                                            const nn::ParameterSource& source) const override {
    return others_.clip(config, source);
  }

 protected:
  const Models& others_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
