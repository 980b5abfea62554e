// PreviewMap: approximates the colours of latents without a decoder, by weighted sums of their channels.
#pragma once

#include <array>
#include <vector>

#include <image/image.hpp>

#include <precast/io/config.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::families {

/// Red, green and blue, each about -1 to 1, as weighted sums of a latent's channels (as the sampler has
/// them, scaled and shifted), plus a constant.
struct PreviewMap {
  std::vector<std::array<f32, 3>> weights;  ///< of each channel
  std::array<f32, 3> bias{};

  /// The object "preview" of a precast.json: {"weights": [[red, green, blue] for each channel], "bias":
  /// [red, green, blue]}. Throws InputError that names the file.
  static PreviewMap from(const io::Config& json);

  /// A pixel for each latent [1, h, w, channels]. Throws ShapeError for another number of channels.
  image::Image picture(HostView<const f32> latents) const;
};

}  // namespace precast::families
