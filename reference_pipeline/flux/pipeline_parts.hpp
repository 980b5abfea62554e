// The parts of a FluxPipeline, and what its stages hand on to each other. For pipeline.cpp and painting.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/backend.hpp>
#include <families/loading.hpp>
#include <families/stages.hpp>
#include <flux/component_weights.hpp>
#include <flux/latents.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <flux/negative_prompt.hpp>
#include <flux/pipeline.hpp>
#include <sampling/flow_match_euler.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/t5_tokenizer.hpp>

#include <precast/io/component_source.hpp>

namespace precast::flux {

/// Ids that T5 takes where its tokenizer's files say no smaller number.
inline constexpr int longest_t5 = 512;

/// A prompt's ids as its encoders take them.
struct Tokens {
  std::vector<std::int32_t> clip, t5;
};

/// What the text encoders made of a prompt.
struct Prompt {
  Tensor<f32> pooled;      ///< [1, pooled dim]
  Tensor<f32> embeddings;  ///< [tokens, joint dim]
};

/// What all pictures of a run are denoised with. Without steps they stay as they are.
struct Denoising {
  std::span<const Prompt> prompts;
  std::vector<DenoiseStep> steps;
  std::span<const f32> levels;  ///< of noise, before each step and after the last
  std::optional<families::PreviewWish> preview;
  const families::Recording* recording = nullptr;  ///< where states are wanted, and no pictures

  /// Steps that are taken at once: a preview or a state comes between two calls, the same steps either way.
  std::int64_t at_once(std::int64_t taken) const {
    if (preview) taken = std::min<std::int64_t>(preview->every, taken);
    return recording ? std::min(recording->every, taken) : taken;
  }
  bool previews_by_vae() const { return preview && preview->vae; }
};

using families::Order, families::Reporter;

struct FluxPipeline::Parts {
  ModelFolder model;
  ComponentChoices choices;
  const families::Backend& backend;
  text::ClipTokenizer clip_tokenizer;
  text::T5Tokenizer t5_tokenizer;

  int clip_length() const { return clip_tokenizer.length(model.clip.max_position_embeddings); }
  int default_t5_length() const {
    const std::int64_t limit = t5_tokenizer.model_max_length().value_or(longest_t5);
    return static_cast<int>(std::min<std::int64_t>(limit, longest_t5));
  }

  PackedLayout layout(const Request& request) const {
    const std::int64_t factor = model.vae.factor();
    return {model.vae.latent_channels, *request.height / factor, *request.width / factor};
  }
  /// Throws ShapeError where latents that are given are not those of the request.
  void check_latents(const Request& request, const std::optional<Tensor<f32>>& latents) const {
    const PackedLayout packed = layout(request);
    const Shape wanted{pictures(request), packed.tokens(), packed.token_channels()};
    if (latents && !(latents->shape() == wanted))
      throw ShapeError("latents have shape " + to_string(latents->shape()) + ", and this request needs " +
                       to_string(wanted) +
                       ": give latents of its size, or change --width, --height or --batch");
  }
  /// The step that denoising begins with; all of them where the picture to start from is kept.
  static int first_step(const Request& full, const Request& given) {
    return given.image ? sampling::img2img_start(*full.steps, full.strength) : 0;
  }
  static std::int64_t pictures(const Request& request) { return families::pictures(request); }
  /// Throws InputError where an encoder has no row for a token.
  Tokens tokenized(const std::string& prompt, const Request& full) const;

  /// Opens a component's weights, and reports each byte that is taken under the stage's name.
  template <class Use>
  auto with_weights(const families::LoadStage& stage, const Reporter& progress, Use&& use) const {
    const std::filesystem::path path = model.component(stage.component);
    return families::with_weights(
        path, stage, progress,
        [&](io::TakenCallback taken) {
          return ComponentWeights(path, weights::part_in(stage.component), std::move(taken));
        },
        std::forward<Use>(use));
  }

  /// The stages, with every default filled in; `given` has the image and the latents to start from. A dry run
  /// goes through them with one step of one picture, or of two where they come one by one.
  Result run(Request full, const Request& given, Order order, const Reporter& progress,
             const families::PictureCallback& on_picture) const;
  /// What denoising starts from: texts are encoded and latents drawn. `sigmas` and `prompts` must outlive it.
  Denoising prepared(const Request& given, const Reporter& progress, Result& result, std::vector<f32>& sigmas,
                     std::vector<Prompt>& prompts) const;
  /// The same up to the final latents, with states to be recorded.
  void record(Request full, const Request& given, const families::Recording& recording,
              const Reporter& progress) const;
  std::vector<Prompt> encode_prompts(const Request& request, const Reporter& progress, Result& result) const;
  vae::Moments encoded_picture(const Request& request, const image::Image& picture, const Reporter& progress,
                               Result& result) const;
  /// What is denoised at first: latents that are given, noise, or a picture's latents with noise.
  Tensor<f32> initial_latents(const Request& request, const Request& given, std::span<const f32> sigmas,
                              int first_step, const Reporter& progress, Result& result) const;
  std::unique_ptr<BlockwiseTransformer> load_transformer(const Reporter& progress, Result& result) const;
  std::unique_ptr<vae::Decoder> load_decoder(const Reporter& progress, Result& result) const;
  /// Each on the picture of that number: its latents, and what they are decoded to.
  void denoise(const BlockwiseTransformer& transformer, const vae::Decoder* previews, std::int64_t picture,
               const Denoising& denoising, const Reporter& progress, Result& result) const;
  /// Shows what the latents of a picture are without their noise, by the decoder or, where there is none, by
  /// the sums of their channels.
  void show_preview(const families::PreviewWish& wish, const vae::Decoder* decoder,
                    HostView<const f32> latents, const Request& request, families::Preview preview) const;
  void decode(const vae::Decoder& decoder, std::int64_t picture, const Reporter& progress,
              const families::PictureCallback& on_picture, Result& result) const;
  void paint_one_by_one(const Denoising& denoising, const Reporter& progress,
                        const families::PictureCallback& on_picture, Result& result) const;
  void paint_in_stages(const Denoising& denoising, const Reporter& progress,
                       const families::PictureCallback& on_picture, Result& result) const;
  /// How a request is going to run, and what that takes.
  families::RunPlan plan(const FluxPipeline& pipeline, const Request& request) const;
  /// The same, of a request that is refused where `check` refuses it.
  families::RunPlan checked_plan(const FluxPipeline& pipeline, const Request& request) const;
};

}  // namespace precast::flux
