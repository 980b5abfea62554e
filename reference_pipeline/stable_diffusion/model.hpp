// Model: an opened folder with its tokenizers, which encodes texts.
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

/// The text encoders' output for a prompt.
struct Prompt {
  Tensor<f32> context;  ///< [tokens, width], both encoders' concatenated
  Tensor<f32> pooled;   ///< [1, width] for an XL model; else empty
};

struct Model {
  /// One of the model's text encoders.
  struct Encoder {
    std::string_view name;   ///< "text_encoder_2"
    std::string_view words;  ///< "CLIP", "OpenCLIP"
    const text::ClipConfig& config;
    const text::ClipTokenizer& tokenizer;

    /// The number of tokens that it reads.
    int length() const { return tokenizer.length(config.max_position_embeddings); }
  };

  ModelFolder folder;
  std::optional<text::ClipTokenizer> tokenizer, tokenizer_2;

  /// Reads configs and tokenizers. Throws InputError.
  static Model open(const families::ModelFiles& files);

  /// The model's text encoders in the order in which they run.
  std::vector<Encoder> encoders() const;
  /// The token ids of a text for an encoder, padded. Throws InputError for an id outside its embedding.
  std::vector<std::int32_t> tokens(const Encoder& encoder, const std::string& text) const;
  /// Without a negative prompt: whether its encoding is zeros instead of that of "".
  bool zeros_for_no_negative() const { return folder.is_xl() && folder.force_zeros_for_empty_prompt; }

  /// Calls a function with a component's opened weights, whose bytes are reported under the stage's name.
  template <class Use>
  auto with_weights(const families::LoadStage& stage, const families::Reporter& progress,
                    families::Result& result, Use&& use) const {
    const std::filesystem::path path = folder.component(stage.component);
    return families::with_weights(
        path, stage, progress, result,
        [&](io::TakenCallback taken) { return ComponentWeights(path, stage.component, std::move(taken)); },
        std::forward<Use>(use));
  }

  /// The hidden state of an encoder for the UNet: that of layer `clip_skip` from the end, else the one of
  /// training. Throws RequestError if there is no such layer.
  text::ClipState state_of(const Encoder& encoder, std::optional<int> clip_skip) const;
  /// Encodes texts; nullopt gives zeros. Encoders are loaded, run and freed one after another.
  std::vector<Prompt> encoded(const std::vector<std::optional<std::string>>& texts,
                              std::optional<int> clip_skip, const families::Backend& backend,
                              const PolicyChoice& choice, const families::Reporter& progress,
                              families::Result& result) const;
};

}  // namespace precast::stable_diffusion
