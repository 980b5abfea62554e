#include <families/changed_latent_models.hpp>
#include <stable_diffusion/changed_models.hpp>
#include <stable_diffusion/models.hpp>

namespace precast::stable_diffusion {

namespace {

class ChangedUNetModels final : public families::ChangedLatentModels<Models> {
 public:
  ChangedUNetModels(const Models& models, const families::WeightsChange& change)
      : ChangedLatentModels(models, change) {}

  std::unique_ptr<Denoiser> denoiser(const UNetConfig& config,
                                     const nn::ParameterSource& source) const override {
    return with_change(source,
                       [&](const nn::ParameterSource& changed) { return models_.denoiser(config, changed); });
  }
};

}  // namespace

std::unique_ptr<families::FamilyModels> with_changed_weights(const families::FamilyModels& models,
                                                             const families::WeightsChange& change) {
  const auto* own = dynamic_cast<const Models*>(&models);
  return own ? std::make_unique<ChangedUNetModels>(*own, change) : nullptr;
}

}  // namespace precast::stable_diffusion
