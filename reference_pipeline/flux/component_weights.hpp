// ComponentWeights: a component of a Flux model out of a folder or a file, under the names that our modules
// ask for, and what its tensors say of its config.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flux/transformer.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>
#include <weights/layouts.hpp>
#include <weights/renamed_source.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/io/component_source.hpp>

namespace precast::flux {

/// Opened weights. Opening reads heads, no values. Neither moved nor copied.
class ComponentWeights final : public nn::ParameterSource {
 public:
  /// Throws InputError where `path` does not hold that part, or holds another model's, naming it.
  ComponentWeights(const std::filesystem::path& path, weights::Part part, io::TakenCallback on_taken = {});
  ComponentWeights(const ComponentWeights&) = delete;
  ComponentWeights& operator=(const ComponentWeights&) = delete;

  bool contains(std::string_view name) const override { return renamed_.contains(name); }
  nn::Parameter find(std::string_view name) const override { return renamed_.find(name); }
  std::string description() const override { return renamed_.description(); }
  void taken(std::size_t bytes) const override { renamed_.taken(bytes); }
  const nn::ParameterSource& source() const { return *this; }
  const weights::WeightTensors& tensors() const { return tensors_; }
  weights::Naming naming() const { return found_.naming; }
  std::filesystem::path path() const { return path_; }
  /// What progress counts to.
  std::size_t bytes_to_take() const { return tensors_.bytes_to_take(); }
  /// Tensors with the component's prefix that no module reads; of a transformer those of no component too.
  std::vector<std::string> unread() const;

  /// The shape of the weight that we call `name`, where it is a tensor of its own; nothing where it is not
  /// there.
  std::optional<Shape> shape(std::string_view name) const;
  /// How many blocks there are whose names (ours) begin with `stem` and a number. Throws InputError where one
  /// between them is missing.
  std::int64_t blocks(std::string_view stem) const;
  /// "FILE: problem".
  InputError error(const std::string& problem) const;

 private:
  static weights::FoundPart found_in(const io::ComponentSource& file, weights::Part part, bool folder);

  std::filesystem::path path_;
  weights::Part part_;
  io::ComponentSource file_;
  weights::FoundPart found_;
  weights::WeightTensors tensors_;
  std::span<const io::NameLine> table_;
  std::int64_t levels_ = 0;
  std::string within_;  ///< "text_model." of a CLIP whose names begin so; its modules take both
  weights::RenamedSource renamed_;
};

/// The configs that tensors tell, with what they do not tell as in Flux.1 dev and schnell. Throws InputError
/// where the tensors are not those of such a component, or where no Flux model of theirs is known.
TransformerConfig transformer_config(const ComponentWeights& weights);
text::ClipConfig clip_config(const ComponentWeights& weights);
text::T5Config t5_config(const ComponentWeights& weights);
vae::AutoencoderConfig autoencoder_config(const ComponentWeights& weights);

/// Where a config lies that weights are compared with: `beside` them, in one folder, or with another model.
enum class ConfigPlace : std::uint8_t { beside, elsewhere };

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
