// Weights that are changed as they are loaded: of every family the denoiser's, and no other component's.
#include <memory>

#include <catch2/catch.hpp>
#include <families/changed_weights.hpp>
#include <flux/models.hpp>
#include <stable_diffusion/models.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/policy_path.hpp>

namespace changed_weights {
namespace {

using namespace precast;

class SameWeights final : public nn::ForwardingSource {
 public:
  explicit SameWeights(const nn::ParameterSource& weights) : ForwardingSource(weights) {}
};

/// Changes nothing, and counts.
class CountingChange final : public families::WeightsChange {
 public:
  std::unique_ptr<nn::ParameterSource> change(const nn::ParameterSource& weights) const override {
    ++changed_;
    return std::make_unique<SameWeights>(weights);
  }
  void loaded(const nn::ParameterSource&) const override { ++loaded_; }

  bool was_asked(int times) const { return changed_ == times && loaded_ == times; }

 private:
  mutable int changed_ = 0, loaded_ = 0;
};

}  // namespace

TEST_CASE("changed weights are the denoisers', and all other components load their own") {
  const DryRun dry;
  const nn::AbsentParameters absent;
  stable_diffusion::UNetConfig unet;
  unet.levels = {{.attention_down = false, .attention_up = false}};
  unet.middle = stable_diffusion::UNetConfig::Middle::absent;
  for_each_choice([&](const PolicyChoice& choice) {
    if (!path_compiled(choice)) return;
    INFO(to_string(choice));
    const CountingChange change;
    const families::ChangedWeights backend(families::cpu_backend(), change);
    CHECK(backend.models(choice).size() == families::cpu_backend().models(choice).size());
    CHECK(backend.models(choice).data() == backend.models(choice).data());
    const flux::Models& flux = flux::models_of(backend, choice);
    const stable_diffusion::Models& stable_diffusion = stable_diffusion::models_of(backend, choice);
    CHECK(flux.clip(text::ClipConfig{}, absent));
    CHECK(flux.t5(text::T5Config{}, absent));
    CHECK(flux.encoder(vae::AutoencoderConfig{}, absent));
    CHECK(stable_diffusion.decoder(vae::AutoencoderConfig{}, absent));
    CHECK(change.was_asked(0));
    CHECK(flux.transformer(flux::TransformerConfig{}, absent));
    CHECK(change.was_asked(1));
    CHECK(stable_diffusion.denoiser(unet, absent));
    CHECK(change.was_asked(2));
  });
}

}  // namespace changed_weights
