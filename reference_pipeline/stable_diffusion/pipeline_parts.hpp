// The parts of a StableDiffusionPipeline, and its runs. Only for its own sources.
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

/// The role of a model in a run.
enum class ModelRole : std::uint8_t { base, refiner };

/// The part of a run by one model: all of it, or the base's or the refiner's part.
struct Leg {
  const Model* model = nullptr;
  std::string_view words;  ///< "denoise", "refine"
  sampling::Sampler sampler;
  std::vector<Prompt> prompts = {};                  ///< of the request, then the negative one if guided
  Tensor<f32> noise = {};                            ///< [draws, pictures, channels, h, w] for its steps
  std::optional<Tensor<f32>> inpainting_noise = {};  ///< for a refiner that inpaints: noise around the mask
};

/// The parts of the initial picture that inpainting keeps, one for each noise generator.
struct InpaintingLatents {
  HostTensor<f32> clean;           ///< its latents [1, h, w, channels]
  HostTensor<f32> extra_channels;  ///< [1, h, w, 1 + channels], if the UNet takes mask and picture
};

/// The initial picture's encoding, before any noise is drawn.
struct StartingPicture {
  bool is_noise = true;  ///< whether the latents start as pure noise
  bool refiner_inpaints =
      false;  ///< whether a refiner, which has no mask input, restores the area around the mask
  std::optional<vae::Moments> moments;         ///< of the picture, if needed
  std::optional<vae::Moments> masked_moments;  ///< outside the mask, for a UNet with a mask input
  HostTensor<f32> mask;                        ///< [1, h, w, 1], if given
};

enum class VaeHalf : std::uint8_t { encoder, decoder };

struct StableDiffusionPipeline::Parts {
  Model model;
  families::ComponentChoices choices;
  const families::Backend& backend;
  families::ComponentChoices in_effect;  ///< with the VAE's policy for decoding
  bool vae_is_given = false;             ///< as a file of its own: then it also decodes a refiner's latents

  LatentSize size(const ResolvedRequest& request) const {
    const std::int64_t factor = model.folder.vae.factor();
    return {model.folder.vae.latent_channels, request.height / factor, request.width / factor};
  }
  /// Whether each step makes two predictions.
  static bool guided(const Model& model, const ResolvedRequest& full) {
    return !model.folder.embeds_guidance() && full.guidance.value_or(1) > 1;
  }
  /// The policy for half of a VAE. XL's VAE with force_upcast runs in f32 instead of f16, which a build
  /// without f32 refuses. Its encoder also runs in f32 instead of bf16, as diffusers always upcasts it; a
  /// build without f32 encodes in bf16, which does not overflow.
  PolicyChoice vae_choice(const Model& of, VaeHalf half) const;

  /// The requested sampler, or the model's own.
  static sampling::SamplerKind sampler_kind(const Model& model, const Request& given);
  /// The sampler for a model's part of a request with at least one step.
  static sampling::Sampler sampler_of(const Model& model, const ResolvedRequest& full, const Request& given,
                                      ModelRole role);
  /// The request's refiner, opened and checked to fit.
  std::optional<Model> open_refiner(const ResolvedRequest& full) const;

  /// The plan of a request's run, with its memory.
  families::RunPlan plan(const ResolvedRequest& full, const Request& given, const Model* refiner) const;
  /// The same, but throws for requests that `check` refuses.
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

  /// The scope "refiner" for a refiner's ops in traces, since its components have the base's names.
  std::optional<watch::Scope> scope_of(const Leg& leg) const {
    return leg.model == &parts_.model ? std::optional<watch::Scope>()
                                      : std::optional<watch::Scope>(std::in_place, "refiner");
  }
  /// Encodes the initial picture and its mask; keeps the mask.
  StartingPicture encoded_picture();
  /// Draws all noise, in diffusers' order.
  void draw(const StartingPicture& starting);
  /// The initial latents [pictures, channels, h, w].
  Tensor<f32> first_latents(const StartingPicture& starting) const;
  const InpaintingLatents& inpainting_latents(std::int64_t picture) const {
    return inpainting_latents_[full().seed_step ? static_cast<std::size_t>(picture) : 0];
  }
  /// The data of a picture's latents.
  f32* drawn_latents(std::int64_t picture) { return result_.latents.data() + picture * size_.elements(); }
  void denoise(const Denoiser& denoiser, const Leg& leg, std::int64_t picture, const vae::Decoder* previews,
               const BeforeCall& before_call);

  const Parts& parts_;
  const Model& last_;  ///< its VAE decodes
  LatentSize size_;
  std::vector<Leg> legs_;                              ///< empty if the initial picture is kept unchanged
  Tensor<f32> noise_;                                  ///< [pictures, channels, h, w]: initial noise
  std::vector<InpaintingLatents> inpainting_latents_;  ///< inpainting: one for all pictures, or one for each
  HostTensor<f32> mask_;                               ///< inpainting: [1, h, w, channels] of 0 and 1
};

}  // namespace precast::stable_diffusion
