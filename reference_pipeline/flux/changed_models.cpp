#include <flux/changed_models.hpp>
#include <flux/models.hpp>
#include <flux/unpadded_blocks.hpp>

namespace precast::flux {

namespace {

class ChangedModels final : public Models {
 public:
  ChangedModels(const Models& models, const families::WeightsChange& change)
      : models_(models), change_(change) {}

  std::unique_ptr<BlockwiseTransformer> transformer(const TransformerConfig& config,
                                                    const nn::ParameterSource& source) const override {
    const UnpaddedBlocks unpadded(source, config);
    const auto changed = change_.change(unpadded);
    auto loaded = models_.transformer(config, *changed);
    change_.loaded(*changed);
    return loaded;
  }
  std::unique_ptr<text::ClipTextModel> clip(const text::ClipConfig& config,
                                            const nn::ParameterSource& source) const override {
    return models_.clip(config, source);
  }
  std::unique_ptr<text::T5Encoder> t5(const text::T5Config& config,
                                      const nn::ParameterSource& source) const override {
    return models_.t5(config, source);
  }
  std::unique_ptr<vae::Decoder> decoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return models_.decoder(config, source);
  }
  std::unique_ptr<vae::Encoder> encoder(const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return models_.encoder(config, source);
  }

 private:
  const Models& models_;
  const families::WeightsChange& change_;
};

}  // namespace

std::unique_ptr<families::FamilyModels> with_changed_weights(const families::FamilyModels& models,
                                                             const families::WeightsChange& change) {
  const auto* own = dynamic_cast<const Models*>(&models);
  return own ? std::make_unique<ChangedModels>(*own, change) : nullptr;
}

}  // namespace precast::flux
