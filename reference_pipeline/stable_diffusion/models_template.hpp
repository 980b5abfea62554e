// Stable Diffusion's models for a policy on this translation unit's backend. Only kernels/ includes this.
#pragma once

#include <memory>

#include <families/latent_models_template.hpp>
#include <stable_diffusion/denoiser_template.hpp>
#include <stable_diffusion/models.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
class CompiledModels final : public families::CompiledLatentModels<P, Models> {
 public:
  std::unique_ptr<Denoiser> denoiser(const UNetConfig& config,
                                     const nn::ParameterSource& source) const override {
    return make_denoiser<P>(config, source);
  }
};

/// The same for a path with Upcast<Conv>: the UNet and the autoencoder have convolutions.
template <PolicyType P>
class ConvUpcastModels final : public families::ConvUpcastLatentModels<P, Models> {
 public:
  using families::ConvUpcastLatentModels<P, Models>::ConvUpcastLatentModels;
  std::unique_ptr<Denoiser> denoiser(const UNetConfig& config,
                                     const nn::ParameterSource& source) const override {
    return make_denoiser<P>(config, source);
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
