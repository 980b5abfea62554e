// Previews: a picture as it forms.
#pragma once

#include <cstdint>
#include <functional>

#include <image/image.hpp>

namespace precast::families {

/// What the latents of a picture look like between two steps, without the noise that is left in them.
struct Preview {
  image::Image picture;     ///< of the size of the picture that forms
  std::int64_t number = 0;  ///< of that picture, from 0
  std::int64_t step = 0, steps = 0;
};

/// What to show of a run, which it does not change by a bit.
struct PreviewWish {
  int every = 1;     ///< steps from one preview to the next; the last step has one
  bool vae = false;  ///< by the autoencoder, which then stays in memory beside the denoiser; else by sums of
                     ///< channels
  std::function<void(const Preview&)>
      show;  ///< is called from the thread that generates; may throw to cancel
};

}  // namespace precast::families
