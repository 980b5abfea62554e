// What a single file of Stable Diffusion holds, as its authors and the programs of many write it: known by
// the names and shapes of its tensors and the values of one of them, never by its own name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weights/layouts.hpp>

#include <precast/io/component_source.hpp>

namespace precast::stable_diffusion {

using weights::FoundComponent, weights::Naming;

enum class Kind : std::uint8_t { v1, v2, xl, xl_refiner };

/// A file with a UNet in it.
struct WeightFile {
  Kind kind;
  std::int64_t in_channels;                ///< of its UNet: 4, or 9 of one that fills in
  bool predicts_v = false;                 ///< a tensor says so; without one it is not known
  std::optional<bool> seems_to_predict_v;  ///< of 2.x, by the spread of a bias where it is there
  bool has_no_signal_at_last = false;      ///< a tensor says that its last timestep is all noise
  bool has_levels_of_edm = false;  ///< tensors give levels of noise, or statistics of latents, as EDM has
  bool is_video = false;           ///< its blocks look along the frames of a video, too
  bool is_unclip = false;          ///< one of 2.x that takes an embedded picture beside the time
  std::vector<FoundComponent> components;

  /// The component of that name, or nullptr.
  const FoundComponent* find(std::string_view component) const;
};

/// The bias of a UNet in its authors' names by whose spread `seems_to_predict_v` is told.
inline constexpr std::string_view bias_of_prediction = "output_blocks.11.1.transformer_blocks.0.norm1.bias";

/// "Stable Diffusion 1.x", "Stable Diffusion XL, inpainting".
std::string in_words(const WeightFile& file);
/// Why it cannot be run, in words that follow "is": "InstructPix2Pix, which ...". "" where it can.
std::string refusal(const WeightFile& file);

/// What a file or folder holds; nothing where it has no UNet in the authors' naming.
std::optional<WeightFile> weight_file(const io::ComponentSource& file);

/// Where a component lies in a file or folder that has no UNet in the authors' naming: a VAE or a text
/// encoder of its own. Nothing where it is a UNet, or where names are diffusers' without a prefix.
std::optional<FoundComponent> lone_component(const io::ComponentSource& file, std::string_view component);

/// The text encoders of their own that a file has in such names. Of names that both have it is the one that
/// is as wide: OpenCLIP's H of 2.x, or its bigG of XL.
std::vector<FoundComponent> lone_text_encoders(const io::ComponentSource& file);

/// The names of matrices that are of none of a file's components, as of a LoRA or a ControlNet. What training
/// left there is not among them: averages of the weights, and schedules of noise, which are no matrices.
std::vector<std::string> other_matrices(const io::ComponentSource& file, const WeightFile& found);

}  // namespace precast::stable_diffusion
