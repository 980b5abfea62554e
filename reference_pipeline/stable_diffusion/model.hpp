// Model: an opened folder with its tokenizers: what texts become for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/choices.hpp>
#include <families/loading.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/model_folder.hpp>
#include <stable_diffusion/models.hpp>
#include <text/clip_tokenizer.hpp>

#include <precast/io/component_source.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::stable_diffusion {

/// What the text encoders made of a prompt.
struct Prompt {
  Tensor<f32> context;  ///< [tokens, width], of both encoders side by side
  Tensor<f32> pooled;   ///< [1, width] of an XL model; else empty
};

struct Model {
  /// One of its text encoders.
  struct Encoder {
    std::string_view name;   ///< "text_encoder_2"
    std::string_view words;  ///< "CLIP", "OpenCLIP"
    const text::ClipConfig& config;
    const text::ClipTokenizer& tokenizer;

    /// The tokens that it takes.
    int length() const { return tokenizer.length(config.max_position_embeddings); }
  };

  ModelFolder folder;
  std::optional<text::ClipTokenizer> tokenizer, tokenizer_2;

  /// Reads configs and tokenizers. Throws InputError.
  static Model open(const families::ModelFiles& files);

  /// Those that it has, in the order in which they run.
  std::vector<Encoder> encoders() const;
  /// A text's ids as an encoder takes them, padded. Throws InputError where it has no row for one.
  std::vector<std::int32_t> tokens(const Encoder& encoder, const std::string& text) const;
  /// What is not to be seen where nobody says it: the encoded "", or zeros.
  bool zeros_for_no_negative() const { return folder.is_xl() && folder.force_zeros_for_empty_prompt; }

  /// Opens a component's weights, and reports each byte that is taken under the stage's name.
  template <class Use>
  auto with_weights(const families::LoadStage& stage, const families::Reporter& progress,
                    families::Result& result, Use&& use) const {
    const std::filesystem::path path = folder.component(stage.component);
    return families::with_weights(
        path, stage, progress, result,
        [&](io::TakenCallback taken) { return ComponentWeights(path, stage.component, std::move(taken)); },
        std::forward<Use>(use));
  }

  /// What the UNet is shown of an encoder: its layer `clip_skip` from the end, else the one that it was
  /// trained with. Throws RequestError where there is no such layer.
  text::ClipState state_of(const Encoder& encoder, std::optional<int> clip_skip) const;
  /// The prompts of texts; one that is none is zeros. Encoders load, run and free one after another.
  std::vector<Prompt> encoded(const std::vector<std::optional<std::string>>& texts,
                              std::optional<int> clip_skip, const families::Backend& backend,
                              const PolicyChoice& choice, const families::Reporter& progress,
                              families::Result& result) const;
};

}  // namespace precast::stable_diffusion
