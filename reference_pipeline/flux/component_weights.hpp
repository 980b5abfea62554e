// ComponentWeights: a component of a Flux model out of a folder or a file, under the names that our modules
// ask for, and what its tensors say of its config.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <flux/transformer.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>
#include <weights/component_config.hpp>
#include <weights/layouts.hpp>
#include <weights/placed_source.hpp>

namespace precast::flux {

/// CLIP's parameters have names without "text_model."; where the file has it, with it too. What is unread of
/// a transformer is also what is of no component.
class ComponentWeights final : public weights::PlacedSource {
 public:
  /// Throws InputError where `path` does not hold that part, or holds another model's, naming it.
  ComponentWeights(const std::filesystem::path& path, weights::Part part, io::TakenCallback on_taken = {});

  /// How many blocks there are whose names (ours) begin with `stem` and a number. Throws InputError where one
  /// between them is missing.
  std::int64_t blocks(std::string_view stem) const;
};

/// The configs that tensors tell, with what they do not tell as in Flux.1 dev and schnell. Throws InputError
/// where the tensors are not those of such a component, or where no Flux model of theirs is known.
TransformerConfig transformer_config(const ComponentWeights& weights);
text::ClipConfig clip_config(const ComponentWeights& weights);
text::T5Config t5_config(const ComponentWeights& weights);
vae::AutoencoderConfig autoencoder_config(const ComponentWeights& weights);

using weights::ConfigPlace;

/// Throws InputError where tensors and the config in `config_file` are not of one model. Of a folder's own
/// config, where tensors have blocks that the config does not: what it lacks, modules say.
void check_agreement(const ComponentWeights& weights, const TransformerConfig& config,
                     const std::filesystem::path& config_file, ConfigPlace place);
void check_agreement(const ComponentWeights& weights, const text::ClipConfig& config,
                     const std::filesystem::path& config_file, ConfigPlace place);
void check_agreement(const ComponentWeights& weights, const text::T5Config& config,
                     const std::filesystem::path& config_file, ConfigPlace place);
void check_agreement(const ComponentWeights& weights, const vae::AutoencoderConfig& config,
                     const std::filesystem::path& config_file, ConfigPlace place);

}  // namespace precast::flux
