// LatentModels: the components that all models of latents have, CLIP and both halves of the autoencoder.
#pragma once

#include <memory>

#include <families/backend.hpp>
#include <text/clip_text_model.hpp>
#include <vae/autoencoder.hpp>

#include <precast/nn/parameter_source.hpp>

namespace precast::families {

/// Each function loads a component. Throws what reading does.
class LatentModels : public FamilyModels {
 public:
  virtual std::unique_ptr<text::ClipTextModel> clip(const text::ClipConfig& config,
                                                    const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<vae::Decoder> decoder(const vae::AutoencoderConfig& config,
                                                const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<vae::Encoder> encoder(const vae::AutoencoderConfig& config,
                                                const nn::ParameterSource& source) const = 0;
};

}  // namespace precast::families
