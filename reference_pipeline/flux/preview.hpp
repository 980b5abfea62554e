// PreviewMap: what latents look like, without a decoder: three sums of their channels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <flux/latents.hpp>
#include <image/image.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::flux {

/// Red, green and blue, each about -1 to 1, as weighted sums of a latent's channels (as the sampler has them,
/// scaled and shifted), plus a constant.
struct PreviewMap {
  std::vector<std::array<f32, 3>> weights;  ///< of each channel
  std::array<f32, 3> bias{};

  /// The map of Flux's own autoencoder, which has 16 channels.
  static PreviewMap of_flux();

  /// A pixel for each latent of one picture, packed.
  image::Image picture(HostView<const f32> packed, const PackedLayout& layout) const;
};

/// Where a straight way from `before`, at noise level `from`, through `now`, at level `to`, ends at level 0:
/// the picture that the latents would be without the noise that is left in them.
Tensor<f32> without_noise(HostView<const f32> before, f32 from, HostView<const f32> now, f32 to);

}  // namespace precast::flux
