// From run-time choices to the instances that kernels/ compiled for this translation unit's backend: the only
// visits in the pipeline.
#pragma once

#include <memory>

#include <flux/components.hpp>

#include <precast/backend/backend.hpp>
#include <precast/policy/visit.hpp>

namespace precast::flux {

inline namespace PRECAST_BACKEND {

/// The loading half of Components.
class CompiledComponents : public Components {
 public:
  std::unique_ptr<Transformer> transformer(const PolicyChoice& choice, const TransformerConfig& config,
                                           const nn::ParameterSource& source) const override {
    return visit_policy<std::unique_ptr<Transformer>>(
        choice, [&](auto path) { return make_transformer<typename decltype(path)::policy>(config, source); });
  }
  std::unique_ptr<text::ClipTextModel> clip(const PolicyChoice& choice, const text::ClipConfig& config,
                                            const nn::ParameterSource& source) const override {
    return visit_policy<std::unique_ptr<text::ClipTextModel>>(choice, [&](auto path) {
      return text::make_clip_text_model<typename decltype(path)::policy>(config, source);
    });
  }
  std::unique_ptr<text::T5Encoder> t5(const PolicyChoice& choice, const text::T5Config& config,
                                      const nn::ParameterSource& source) const override {
    return visit_policy<std::unique_ptr<text::T5Encoder>>(choice, [&](auto path) {
      return text::make_t5_encoder<typename decltype(path)::policy>(config, source);
    });
  }
  std::unique_ptr<vae::Decoder> decoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return visit_policy<std::unique_ptr<vae::Decoder>>(choice, [&](auto path) {
      return vae::make_decoder<typename decltype(path)::policy>(config, source);
    });
  }
  std::unique_ptr<vae::Encoder> encoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return visit_policy<std::unique_ptr<vae::Encoder>>(choice, [&](auto path) {
      return vae::make_encoder<typename decltype(path)::policy>(config, source);
    });
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::flux
