// The parts of a StableDiffusionPipeline, and what its stages hand on to each other. For its own sources.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/stages.hpp>
#include <sampling/sampler.hpp>
#include <stable_diffusion/latents.hpp>
#include <stable_diffusion/model.hpp>
#include <stable_diffusion/pipeline.hpp>

#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

using families::Order, families::Reporter, families::Request, families::Result;

/// What a model is in a run.
enum class ModelRole : std::uint8_t { base, refiner };

/// A model's share of a run: all of it, or a base's or a refiner's part.
struct Leg {
  const Model* model = nullptr;
  std::string_view words;                    ///< "denoise", "refine"
  std::optional<sampling::Sampler> sampler;  ///< none where the picture to start from is kept
  std::vector<Prompt> prompts = {};          ///< of the request, then the negative one where it is guided
  Tensor<f32> noise = {};                    ///< [draws, pictures, channels, h, w] of its steps
  std::optional<Tensor<f32>> around = {};  ///< of a refiner that paints into a picture: noise around the mask
};

/// What inpainting keeps of the picture to start from, one for each generator of noise.
struct Kept {
  HostTensor<f32> clean;   ///< its latents [1, h, w, channels]
  HostTensor<f32> beside;  ///< [1, h, w, 1 + channels], where the UNet takes a mask and a masked picture
};

/// What all pictures of a run are made from.
struct Prepared {
  std::vector<Leg> legs;
  Tensor<f32> noise;       ///< [pictures, channels, h, w]: what they start from
  std::vector<Kept> kept;  ///< of inpainting: of all pictures, or of each
  HostTensor<f32> mask;    ///< of inpainting: [1, h, w, channels] of 0 and 1
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

  LatentSize size(const Request& request) const {
    const std::int64_t factor = model.folder.vae.factor();
    return {model.folder.vae.latent_channels, *request.height / factor, *request.width / factor};
  }
  /// Whether each step makes two predictions.
  static bool guided(const Model& model, const Request& full) {
    return !model.folder.embeds_guidance() && *full.guidance > 1;
  }
  /// The policy of half of a VAE. An XL model's that says force_upcast runs in f32 where f16 is asked for,
  /// which a program without f32 refuses. Its encoder runs in f32 in place of bf16 too, as diffusers casts it
  /// without asking from what; there a program without f32 encodes in bf16, which does not overflow.
  PolicyChoice vae_choice(const Model& of, VaeHalf half) const;

  /// The run of a model's sampler; nothing where an image is kept as it is.
  static std::optional<sampling::Sampler> sampler_of(const Model& model, const Request& full,
                                                     const Request& given, ModelRole role);
  /// The request's refiner, opened and found to fit.
  std::optional<Model> open_refiner(const Request& full) const;
  void check_latents(const Request& full, const std::optional<Tensor<f32>>& latents) const;
  /// In a trace, what a refiner runs is of "refiner": its components have the base's names.
  std::optional<watch::Scope> scope_of(const Leg& leg) const {
    return leg.model == &model ? std::optional<watch::Scope>()
                               : std::optional<watch::Scope>(std::in_place, "refiner");
  }

  Result run(Request full, const Request& given, const Model* refiner, Order order, const Reporter& progress,
             const families::PictureCallback& on_picture) const;
  Prepared prepared(const Request& given, const Model* refiner, const Reporter& progress,
                    Result& result) const;
  /// The picture to start from, encoded, and its mask, which `prepared` keeps.
  StartingPicture encoded_picture(const Request& given, const Reporter& progress, Prepared& prepared,
                                  Result& result) const;
  /// Everything that is drawn, in the order in which diffusers draws it.
  void draw(const Request& given, const Request& full, const StartingPicture& starting,
            Prepared& prepared) const;
  /// [pictures, channels, h, w]: the latents to start from.
  Tensor<f32> first_latents(const Request& full, const StartingPicture& starting,
                            const Prepared& prepared) const;
  void denoise(const Denoiser& denoiser, const Leg& leg, const vae::Decoder* previews, std::int64_t picture,
               const Prepared& prepared, const Request& given, const Reporter& progress, Result& result,
               const families::Recording* recording = nullptr) const;
  /// The same up to the final latents, with states to be recorded.
  void record(Request full, const Request& given, const families::Recording& recording,
              const Reporter& progress) const;
  /// Shows what latents without noise are, by the decoder or, where there is none, by the sums of their
  /// channels.
  void show_preview(const families::PreviewWish& wish, const vae::Decoder* decoder, HostTensor<f32> latents,
                    const Request& full, families::Preview preview) const;
  void decode(const Model& of, const vae::Decoder& decoder, std::int64_t picture, const Reporter& progress,
              const families::PictureCallback& on_picture, Result& result) const;
  /// What the decoder takes: [1, h, w, channels], unscaled.
  static HostTensor<f32> for_decoder(const Model& of, HostTensor<f32> latents);
  std::unique_ptr<Denoiser> load_denoiser(const Leg& leg, const Reporter& progress, Result& result) const;
  std::unique_ptr<vae::Decoder> load_decoder(const Model& of, const Reporter& progress, Result& result) const;
  /// How a request is going to run, and what that takes.
  families::RunPlan plan(const StableDiffusionPipeline& pipeline, const Request& request,
                         const Model* refiner) const;
  /// The same, of a request that is refused where `check` refuses it.
  families::RunPlan checked_plan(const StableDiffusionPipeline& pipeline, const Request& request,
                                 const Model* refiner) const;
};

}  // namespace precast::stable_diffusion
