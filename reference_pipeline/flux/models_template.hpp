// Flux's models for a policy on this translation unit's backend. Only kernels/ includes this.
#pragma once

#include <memory>

#include <families/latent_models_template.hpp>
#include <flux/models.hpp>
#include <flux/transformer_model.hpp>
#include <text/t5_encoder_template.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::flux {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
class CompiledModels final : public families::CompiledLatentModels<P, Models> {
 public:
  std::unique_ptr<BlockwiseTransformer> transformer(const TransformerConfig& config,
                                                    const nn::ParameterSource& source) const override {
    return make_transformer<P>(config, source);
  }
  std::unique_ptr<text::T5Encoder> t5(const text::T5Config& config,
                                      const nn::ParameterSource& source) const override {
    return text::make_t5_encoder<P>(config, source);
  }
};

/// The same for a path with Upcast<Conv>, of which the autoencoder alone has convolutions.
template <PolicyType P>
class ConvUpcastModels final : public families::ConvUpcastLatentModels<P, Models> {
 public:
  using families::ConvUpcastLatentModels<P, Models>::ConvUpcastLatentModels;
  std::unique_ptr<BlockwiseTransformer> transformer(const TransformerConfig& config,
                                                    const nn::ParameterSource& source) const override {
    return this->others_.transformer(config, source);
  }
  std::unique_ptr<text::T5Encoder> t5(const text::T5Config& config,
                                      const nn::ParameterSource& source) const override {
    return this->others_.t5(config, source);
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::flux
