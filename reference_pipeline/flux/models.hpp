// What makes the components of a Flux model under one policy, on one backend.
#pragma once

#include <memory>

#include <families/backend.hpp>
#include <flux/transformer.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

#include <precast/nn/parameter_source.hpp>
#include <precast/policy/choice.hpp>

namespace precast::flux {

/// Each function loads a component. Throws what reading does.
class Models : public families::FamilyModels {
 public:
  virtual std::unique_ptr<BlockwiseTransformer> transformer(const TransformerConfig& config,
                                                            const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<text::ClipTextModel> clip(const text::ClipConfig& config,
                                                    const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<text::T5Encoder> t5(const text::T5Config& config,
                                              const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<vae::Decoder> decoder(const vae::AutoencoderConfig& config,
                                                const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<vae::Encoder> encoder(const vae::AutoencoderConfig& config,
                                                const nn::ParameterSource& source) const = 0;
};

/// Flux's models under a policy. Throws PathNotCompiled where a build leaves it out.
inline const Models& models_of(const families::Backend& backend, const PolicyChoice& choice) {
  return families::models_of<Models>(backend, choice);
}

}  // namespace precast::flux
