// The parts of a StableDiffusionPipeline, and its runs. For its own sources.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/run.hpp>
#include <families/stages.hpp>
#include <sampling/sampler.hpp>
#include <stable_diffusion/latents.hpp>
#include <stable_diffusion/model.hpp>
#include <stable_diffusion/pipeline.hpp>

#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

using families::Reporter, families::Request, families::ResolvedRequest, families::Result;

/// What a model is in a run.
enum class ModelRole : std::uint8_t { base, refiner };

/// A model's share of a run: all of it, or a base's or a refiner's part.
struct Leg {
  const Model* model = nullptr;
  std::string_view words;  ///< "denoise", "refine"
  sampling::Sampler sampler;
  std::vector<Prompt> prompts = {};        ///< of the request, then the negative one where it is guided
  Tensor<f32> noise = {};                  ///< [draws, pictures, channels, h, w] of its steps
  std::optional<Tensor<f32>> around = {};  ///< of a refiner that paints into a picture: noise around the mask
};

/// What inpainting keeps of the picture to start from, one for each generator of noise.
struct Kept {
  HostTensor<f32> clean;   ///< its latents [1, h, w, channels]
  HostTensor<f32> beside;  ///< [1, h, w, 1 + channels], where the UNet takes a mask and a masked picture
};

/// What is known of the latents that a run begins with, before anything is drawn.
struct StartingPicture {
  bool is_noise = true;                 ///< they begin as noise alone
  bool kept_by_refiner = false;         ///< a refiner, which takes no mask, keeps what is around it by them
  std::optional<vae::Moments> moments;  ///< of the picture, where it is needed
  std::optional<vae::Moments> masked_moments;  ///< of what a mask leaves of it, for a UNet that takes both
  HostTensor<f32> mask;                        ///< [1, h, w, 1], where there is one
};

enum class VaeHalf : std::uint8_t { encoder, decoder };

struct StableDiffusionPipeline::Parts {
  Model model;
  families::ComponentChoices choices;
  const families::Backend& backend;
  families::ComponentChoices in_effect;  ///< with the VAE's as it decodes
  bool vae_is_given = false;             ///< by itself: then it decodes what a refiner ends with too

  LatentSize size(const ResolvedRequest& request) const {
    const std::int64_t factor = model.folder.vae.factor();
    return {model.folder.vae.latent_channels, request.height / factor, request.width / factor};
  }
  /// Whether each step makes two predictions.
  static bool guided(const Model& model, const ResolvedRequest& full) {
    return !model.folder.embeds_guidance() && full.guidance.value_or(1) > 1;
  }
  /// The policy of half of a VAE. An XL model's that says force_upcast runs in f32 where f16 is asked for,
  /// which a program without f32 refuses. Its encoder runs in f32 in place of bf16 too, as diffusers casts it
  /// without asking from what; there a program without f32 encodes in bf16, which does not overflow.
  PolicyChoice vae_choice(const Model& of, VaeHalf half) const;

  /// The sampler that is asked for, or the model's own.
  static sampling::SamplerKind sampler_kind(const Model& model, const Request& given);
  /// The run of a model's sampler, of a request that takes steps.
  static sampling::Sampler sampler_of(const Model& model, const ResolvedRequest& full, const Request& given,
                                      ModelRole role);
  /// The request's refiner, opened and found to fit.
  std::optional<Model> open_refiner(const ResolvedRequest& full) const;

  /// How a request is going to run, and what that takes.
  families::RunPlan plan(const ResolvedRequest& full, const Request& given, const Model* refiner) const;
  /// The same, of a request that is refused where `check` refuses it.
  families::RunPlan checked_plan(const ResolvedRequest& full, const Request& given,
                                 const Model* refiner) const;
};

class StableDiffusionPipeline::Run final : public families::Run {
 public:
  Run(const Parts& parts, const ResolvedRequest& full, const Request& given, const Model* refiner,
      const Reporter& progress, const families::Recording* recording = nullptr);

 private:
  std::int64_t denoisers() const override { return std::ssize(legs_); }
  families::LoadedDenoiser load_denoiser(std::int64_t number) override;
  std::unique_ptr<vae::Decoder> load_decoder() override;
  HostTensor<f32> latents_of(std::int64_t picture) override;
  HostTensor<f32> unscaled(HostTensor<f32> latents) const override;
  std::optional<families::PreviewMap> preview_map() const override {
    return parts_.model.folder.preview_map();
  }

  /// In a trace, what a refiner runs is of "refiner": its components have the base's names.
  std::optional<watch::Scope> scope_of(const Leg& leg) const {
    return leg.model == &parts_.model ? std::optional<watch::Scope>()
                                      : std::optional<watch::Scope>(std::in_place, "refiner");
  }
  /// The picture to start from, encoded, and its mask, which this keeps.
  StartingPicture encoded_picture();
  /// Everything that is drawn, in the order in which diffusers draws it.
  void draw(const StartingPicture& starting);
  /// [pictures, channels, h, w]: the latents to start from.
  Tensor<f32> first_latents(const StartingPicture& starting) const;
  const Kept& kept_of(std::int64_t picture) const {
    return kept_[full().seed_step ? static_cast<std::size_t>(picture) : 0];
  }
  /// Where those of a picture begin.
  f32* drawn_latents(std::int64_t picture) { return result_.latents.data() + picture * size_.elements(); }
  void denoise(const Denoiser& denoiser, const Leg& leg, std::int64_t picture, const vae::Decoder* previews,
               const BeforeCall& before_call);

  const Parts& parts_;
  const Model& last_;  ///< whose VAE decodes
  LatentSize size_;
  std::vector<Leg> legs_;   ///< none where the picture to start from is kept
  Tensor<f32> noise_;       ///< [pictures, channels, h, w]: what they start from
  std::vector<Kept> kept_;  ///< of inpainting: of all pictures, or of each
  HostTensor<f32> mask_;    ///< of inpainting: [1, h, w, channels] of 0 and 1
};

}  // namespace precast::stable_diffusion
