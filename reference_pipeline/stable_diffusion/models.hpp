// What makes the components of a Stable Diffusion model under one policy, on one backend.
#pragma once

#include <memory>

#include <families/backend.hpp>
#include <families/latent_models.hpp>
#include <stable_diffusion/denoiser.hpp>

#include <precast/nn/parameter_source.hpp>
#include <precast/policy/choice.hpp>

namespace precast::stable_diffusion {

/// Each function loads a component. Throws what reading does.
class Models : public families::LatentModels {
 public:
  virtual std::unique_ptr<Denoiser> denoiser(const UNetConfig& config,
                                             const nn::ParameterSource& source) const = 0;
};

/// Stable Diffusion's models under a policy. Throws PathNotCompiled where a build leaves it out.
inline const Models& models_of(const families::Backend& backend, const PolicyChoice& choice) {
  return families::models_of<Models>(backend, choice);
}

}  // namespace precast::stable_diffusion
