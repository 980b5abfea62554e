// Previews of pictures during denoising.
#pragma once

#include <cstdint>
#include <functional>

#include <image/image.hpp>

namespace precast::families {

/// A picture's latents between two steps, as pixels, without the noise that is left in them.
struct Preview {
  image::Image picture;     ///< in the size of the final picture
  std::int64_t number = 0;  ///< of that picture, from 0
  std::int64_t step = 0, steps = 0;
};

/// A request for previews of a run, which do not change its result by a bit.
struct PreviewRequest {
  int every = 1;     ///< steps from one preview to the next; the last step has one
  bool vae = false;  ///< by the autoencoder, which then stays in memory beside the denoiser; else by sums of
                     ///< channels
  std::function<void(const Preview&)>
      show;  ///< is called from the thread that generates; may throw to cancel
};

}  // namespace precast::families
