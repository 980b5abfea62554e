// What makes the components of a Flux model under one policy, on one backend.
#pragma once

#include <memory>

#include <families/backend.hpp>
#include <families/latent_models.hpp>
#include <flux/transformer.hpp>
#include <text/t5_encoder.hpp>

#include <precast/nn/parameter_source.hpp>
#include <precast/policy/choice.hpp>

namespace precast::flux {

/// Each function loads a component. Throws what reading does.
class Models : public families::LatentModels {
 public:
  virtual std::unique_ptr<BlockwiseTransformer> transformer(const TransformerConfig& config,
                                                            const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<text::T5Encoder> t5(const text::T5Config& config,
                                              const nn::ParameterSource& source) const = 0;
};

/// Flux's models under a policy. Throws PathNotCompiled where a build leaves it out.
inline const Models& models_of(const families::Backend& backend, const PolicyChoice& choice) {
  return families::models_of<Models>(backend, choice);
}

}  // namespace precast::flux
