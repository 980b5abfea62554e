// Previews of Flux: the map of its latents to colours, and latents without their remaining noise.
#pragma once

#include <families/preview_map.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::flux {

using families::PreviewMap;

/// The map of Flux's own autoencoder, which has 16 channels.
PreviewMap usual_preview_map();

/// Extrapolates the line from `before`, at noise level `from`, through `now`, at level `to`, to level 0:
/// the latents without the noise that is left in them.
Tensor<f32> without_noise(HostView<const f32> before, f32 from, HostView<const f32> now, f32 to);

}  // namespace precast::flux
