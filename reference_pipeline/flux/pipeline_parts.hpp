// The parts of a FluxPipeline, and its runs. For its own sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/backend.hpp>
#include <families/loading.hpp>
#include <families/run.hpp>
#include <families/stages.hpp>
#include <flux/component_weights.hpp>
#include <flux/latents.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <flux/pipeline.hpp>
#include <sampling/flow_match_euler.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/t5_tokenizer.hpp>

#include <precast/io/component_source.hpp>

namespace precast::flux {

/// The most ids that T5 takes, unless its tokenizer's files give a smaller number.
inline constexpr int longest_t5 = 512;

/// A prompt's ids as its encoders take them.
struct Tokens {
  std::vector<std::int32_t> clip, t5;
};

/// A prompt's embeddings from the text encoders.
struct Prompt {
  Tensor<f32> pooled;      ///< [1, pooled dim]
  Tensor<f32> embeddings;  ///< [tokens, joint dim]
};

using families::Reporter, families::ResolvedRequest;

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
  int t5_length(const ResolvedRequest& full) const {
    return full.max_sequence_length.value_or(default_t5_length());
  }

  PackedLayout layout(const ResolvedRequest& request) const {
    const std::int64_t factor = model.vae.factor();
    return {model.vae.latent_channels, request.height / factor, request.width / factor};
  }
  /// The step that denoising begins with; the number of steps where the picture to start from is kept.
  static int first_step(const ResolvedRequest& full, const Request& given) {
    return given.image ? sampling::img2img_start(full.steps, full.strength) : 0;
  }
  /// Throws InputError where an encoder has no row for a token.
  Tokens tokenized(const std::string& prompt, const ResolvedRequest& full) const;

  /// The order in which a request will run, and its memory estimate.
  families::RunPlan plan(const ResolvedRequest& full, const Request& given) const;
  /// The plan of a request; throws for a request that `check` refuses.
  families::RunPlan checked_plan(const ResolvedRequest& full, const Request& given) const;
};

class FluxPipeline::Run final : public families::Run {
 public:
  Run(const Parts& parts, const ResolvedRequest& full, const Request& given, const Reporter& progress,
      const families::Recording* recording = nullptr);

 private:
  std::int64_t denoisers() const override { return steps_.empty() ? 0 : 1; }
  families::LoadedDenoiser load_denoiser(std::int64_t number) override;
  std::unique_ptr<vae::Decoder> load_decoder() override;
  HostTensor<f32> latents_of(std::int64_t picture) override;
  HostTensor<f32> unscaled(HostTensor<f32> latents) const override;
  std::optional<PreviewMap> preview_map() const override { return parts_.model.preview_map(); }

  /// Opens a component's weights, and reports each byte that is taken under the stage's name.
  template <class Use>
  auto with_weights(const families::LoadStage& stage, Use&& use) {
    const std::filesystem::path path = parts_.model.component(stage.component);
    return families::with_weights(
        path, stage, progress_, result_,
        [&](io::TakenCallback taken) {
          return ComponentWeights(path, weights::part_in(stage.component), std::move(taken));
        },
        std::forward<Use>(use));
  }
  std::vector<Prompt> encoded_prompts();
  vae::Moments encoded_picture();
  /// The latents that denoising begins with: given latents, noise, or a picture's latents with noise.
  Tensor<f32> initial_latents();
  /// A picture's latents, packed.
  HostView<f32> packed(std::int64_t picture);
  void denoise(const BlockwiseTransformer& transformer, std::int64_t picture, const vae::Decoder* previews,
               const BeforeStep& before_step);

  const Parts& parts_;
  PackedLayout layout_;
  std::vector<f32> levels_;         ///< of noise, before each step and after the last
  std::vector<DenoiseStep> steps_;  ///< none where the picture to start from is kept
  std::vector<Prompt> prompts_;
};

}  // namespace precast::flux
