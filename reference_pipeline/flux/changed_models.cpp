#include <families/changed_latent_models.hpp>
#include <flux/changed_models.hpp>
#include <flux/models.hpp>
#include <flux/unpadded_blocks.hpp>

namespace precast::flux {

namespace {

class ChangedModels final : public families::ChangedLatentModels<Models> {
 public:
  ChangedModels(const Models& models, const families::WeightsChange& change)
      : ChangedLatentModels(models, change) {}

  std::unique_ptr<BlockwiseTransformer> transformer(const TransformerConfig& config,
                                                    const nn::ParameterSource& source) const override {
    const UnpaddedBlocks unpadded(source, config);
    return with_change(
        unpadded, [&](const nn::ParameterSource& changed) { return models_.transformer(config, changed); });
  }
  std::unique_ptr<text::T5Encoder> t5(const text::T5Config& config,
                                      const nn::ParameterSource& source) const override {
    return models_.t5(config, source);
  }
};

}  // namespace

std::unique_ptr<families::FamilyModels> with_changed_weights(const families::FamilyModels& models,
                                                             const families::WeightsChange& change) {
  const auto* own = dynamic_cast<const Models*>(&models);
  return own ? std::make_unique<ChangedModels>(*own, change) : nullptr;
}

}  // namespace precast::flux
