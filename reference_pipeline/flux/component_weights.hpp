// ComponentWeights: a component of a Flux model from a folder or a file, under the names that Precast's
// modules ask for, and the config that its tensors show.
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

/// CLIP's parameters have names without "text_model.", and with it too where the file has it. A
/// transformer's unread tensors include those of no component.
class ComponentWeights final : public weights::PlacedSource {
 public:
  /// Throws InputError where `path` does not hold that part, or holds another model's, naming it.
  ComponentWeights(const std::filesystem::path& path, weights::Part part, io::TakenCallback on_taken = {});

  /// The number of blocks whose names (Naming::ours) begin with `stem` and a number. Throws InputError if
  /// one of them is missing.
  std::int64_t blocks(std::string_view stem) const;
};

/// The configs that tensors show, with the values of Flux.1 dev and schnell where they show none. Throws
/// InputError where the tensors are not those of such a component, or are of no known Flux model.
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
