// A family's models with a change to the weights of their denoiser, which all models of latents have in
// common.
#pragma once

#include <memory>

#include <families/changed_weights.hpp>
#include <families/latent_models.hpp>

namespace precast::families {

/// The components of `models` that are loaded as they are. Who derives from this adds the denoiser, by
/// `with_change`, and what else a family has. `Models` is the family's, derived from LatentModels.
template <class Models>
class ChangedLatentModels : public Models {
 public:
  std::unique_ptr<text::ClipTextModel> clip(const text::ClipConfig& config,
                                            const nn::ParameterSource& source) const override {
    return models_.clip(config, source);
  }
  std::unique_ptr<vae::Decoder> decoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return models_.decoder(config, source);
  }
  std::unique_ptr<vae::Encoder> encoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return models_.encoder(config, source);
  }

 protected:
  /// Both must outlive this.
  ChangedLatentModels(const Models& models, const WeightsChange& change) : models_(models), change_(change) {}

  /// What `load` makes of changed weights.
  template <class Load>
  auto with_change(const nn::ParameterSource& source, Load&& load) const {
    const auto changed = change_.change(source);
    auto loaded = load(*changed);
    change_.loaded(*changed);
    return loaded;
  }

  const Models& models_;

 private:
  const WeightsChange& change_;
};

}  // namespace precast::families
