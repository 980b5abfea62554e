// What a file of weights holds, by the names of its tensors: which parts of a model, and who named them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <precast/io/component_source.hpp>

namespace precast::weights {

/// `second_clip` is Stable Diffusion XL's, beside `clip`.
enum class Part : std::uint8_t { transformer, clip, t5, autoencoder, unet, second_clip };
inline constexpr std::array flux_parts{Part::clip, Part::t5, Part::transformer, Part::autoencoder};
/// Who named the tensors of a component.
enum class Naming : std::uint8_t {
  ours,      ///< diffusers and transformers, of any release
  original,  ///< a model's authors
  openclip,  ///< OpenCLIP: queries, keys and values are one matrix
  gguf,      ///< ggml's tools
};

/// "the transformer", "the first text encoder (CLIP)".
std::string_view in_words(Part part);
/// The folder of that part in a diffusers model: "text_encoder".
std::string_view folder_of(Part part);
/// The part of a Flux model that lies in a folder of that name.
Part part_in(std::string_view folder);
/// "diffusers", "original", "OpenCLIP", "GGUF".
std::string_view in_words(Naming naming);

/// A component of a model in a file.
struct FoundComponent {
  std::string component;  ///< its folder in a diffusers model: "text_encoder"
  Naming naming;
  std::string prefix;  ///< before the names of its tensors

  bool operator==(const FoundComponent&) const = default;
};

/// The metadata key and value of a GGUF file that holds the importance of a model's matrices.
inline constexpr std::string_view type_key = "general.type", importance_type = "imatrix";
/// Whether a file holds importance, and no weights.
bool is_importance(const io::TensorFile& file);

/// Where a file or folder has a part of a model, under each naming and prefix that it is there.
std::vector<FoundComponent> places_of(const io::ComponentSource& file, Part part);

/// The parts of a Flux model that a file or folder holds, at most one of a kind. Throws InputError where a
/// kind is there under two prefixes, and for a file of importance.
std::vector<FoundComponent> parts_of(const io::ComponentSource& file);
/// The component in that folder of a diffusers model, or nullptr.
const FoundComponent* find_component(const std::vector<FoundComponent>& parts, std::string_view component);

/// A name without what files of several parts put in front of a part's tensors: "model.diffusion_model.",
/// "text_encoders.t5xxl.transformer." and the like.
std::string_view without_prefix(std::string_view name);
/// A name without one part's prefixes.
std::string_view without_prefix(std::string_view name, Part part);
/// Whether both are prefixes that files use for the same part's tensors.
bool are_prefixes_of_one_part(std::string_view prefix, std::string_view other);

/// Whether a file has a name that no Flux transformer has, though others may be its, or takes no pooled
/// text where Flux.1 does. Not where it is some blocks alone, which may be Flux.1's.
bool differs_from_flux(const io::ComponentSource& file);

/// A model that is not plain Flux.
struct OtherModel {
  /// A UNet of Stable Diffusion in diffusers' names is read, but no file of it can stand for a whole model.
  enum class Kind : std::uint8_t { unread, lone_unet };
  Kind kind = Kind::unread;
  std::string in_words;  ///< "a FLUX.2 model"
};
/// What a file holds other than a plain Flux model's weights; nothing where nothing in the file shows it.
std::optional<OtherModel> other_model(const io::ComponentSource& file,
                                      const std::vector<FoundComponent>& parts);

}  // namespace precast::weights
