// Stable Diffusion's models for a policy on this translation unit's backend. Only kernels/ includes this.
#pragma once

#include <memory>

#include <stable_diffusion/denoiser_template.hpp>
#include <stable_diffusion/models.hpp>
#include <text/clip_text_model_template.hpp>
#include <vae/autoencoder_template.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
class CompiledModels final : public Models {
 public:
  std::unique_ptr<Denoiser> denoiser(const UNetConfig& config,
                                     const nn::ParameterSource& source) const override {
    return make_denoiser<P>(config, source);
  }
  std::unique_ptr<text::ClipTextModel> clip(const text::ClipConfig& config,
                                            const nn::ParameterSource& source) const override {
    return text::make_clip_text_model<P>(config, source);
  }
  std::unique_ptr<vae::Decoder> decoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return vae::make_decoder<P>(config, source);
  }
  std::unique_ptr<vae::Encoder> encoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return vae::make_encoder<P>(config, source);
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
