// The contents of a single Stable Diffusion file, in the namings of its authors and of other programs:
// recognised by names and shapes of tensors and the values of one, never by the file's name.
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

/// A file that contains a UNet.
struct WeightFile {
  Kind kind;
  std::int64_t in_channels;                ///< of its UNet: 4, or 9 for inpainting
  bool predicts_v = false;                 ///< a tensor says so; unknown otherwise
  std::optional<bool> seems_to_predict_v;  ///< 2.x: from the spread of a bias, if present
  bool has_no_signal_at_last = false;      ///< a tensor marks zero terminal SNR
  bool has_levels_of_edm = false;          ///< tensors with EDM's noise levels or latent statistics
  bool is_video = false;                   ///< its blocks also attend across the frames of a video
  bool is_unclip = false;                  ///< a 2.x model with an image embedding as input
  std::vector<FoundComponent> components;

  /// The component of that name, or nullptr.
  const FoundComponent* find(std::string_view component) const {
    return weights::find_component(components, component);
  }
};

/// The bias whose spread determines `seems_to_predict_v`, in the authors' naming of a UNet.
inline constexpr std::string_view bias_of_prediction = "output_blocks.11.1.transformer_blocks.0.norm1.bias";

/// "Stable Diffusion 1.x", "Stable Diffusion XL, inpainting".
std::string in_words(const WeightFile& file);
/// Why it cannot be run, as a phrase after "is": "InstructPix2Pix, which ..."; "" if it can.
std::string refusal(const WeightFile& file);

/// The contents of a file or folder; nothing if it has no UNet in the authors' naming.
std::optional<WeightFile> weight_file(const io::ComponentSource& file);

/// Where a file or folder has a VAE or a text encoder, beside a UNet or by itself; nothing for a UNet. Two
/// text encoders may be in one place: lone_text_encoders decides.
std::optional<FoundComponent> lone_component(const io::ComponentSource& file, std::string_view component);

/// The text encoders in such a file. Where two kinds share names, the width decides: OpenCLIP's H for 2.x,
/// or its bigG for XL.
std::vector<FoundComponent> lone_text_encoders(const io::ComponentSource& file);

/// The names of matrices that belong to none of a file's components, such as a LoRA's or a ControlNet's.
/// Without what training leaves: averages of the weights (model_ema.); noise schedules are not matrices.
std::vector<std::string> other_matrices(const io::ComponentSource& file, const WeightFile& found);

}  // namespace precast::stable_diffusion
