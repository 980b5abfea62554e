// Latents in their three layouts: drawn [pictures, channels, h, w], packed [tokens, 4 channels] for the
// transformer, and [1, h, w, channels] for the autoencoder.
#pragma once

#include <cstdint>

#include <precast/tensor/tensor.hpp>

namespace precast::flux {

/// The place of a picture's latent in the packed layout: 2x2 neighbours make a token, channel by channel.
struct PackedLayout {
  std::int64_t channels, height, width;  ///< of the unpacked latents; height and width are even

  std::int64_t tokens() const { return (height / 2) * (width / 2); }
  std::int64_t token_channels() const { return 4 * channels; }
  std::int64_t index(std::int64_t channel, std::int64_t y, std::int64_t x) const {
    const std::int64_t token = (y / 2) * (width / 2) + x / 2;
    return token * token_channels() + channel * 4 + (y % 2) * 2 + x % 2;
  }
};

/// [channels, h, w] of each picture, as drawn -> packed [pictures, tokens, 4 channels].
inline Tensor<f32> pack(HostView<const f32> drawn, std::int64_t pictures, const PackedLayout& layout) {
  Tensor<f32> packed(Shape{pictures, layout.tokens(), layout.token_channels()});
  if (DryRun::active()) return packed;
  const f32* from = drawn.data();
  for (std::int64_t picture = 0; picture < pictures; ++picture) {
    f32* to = packed.data() + picture * layout.tokens() * layout.token_channels();
    for (std::int64_t channel = 0; channel < layout.channels; ++channel)
      for (std::int64_t y = 0; y < layout.height; ++y)
        for (std::int64_t x = 0; x < layout.width; ++x) to[layout.index(channel, y, x)] = *from++;
  }
  return packed;
}

/// One picture's packed latents -> [1, h, w, channels].
inline Tensor<f32> unpack(HostView<const f32> packed, const PackedLayout& layout) {
  Tensor<f32> latents(Shape{1, layout.height, layout.width, layout.channels});
  if (DryRun::active()) return latents;
  auto to = latents.values().begin();
  for (std::int64_t y = 0; y < layout.height; ++y)
    for (std::int64_t x = 0; x < layout.width; ++x)
      for (std::int64_t channel = 0; channel < layout.channels; ++channel)
        *to++ = packed.data()[layout.index(channel, y, x)];
  return latents;
}

/// Latents divided by `scale` and shifted, as the decoder takes them.
inline Tensor<f32> unscaled(Tensor<f32> latents, f32 scale, f32 shift) {
  if (DryRun::active()) return latents;
  for (f32& value : latents.values()) value = value / scale + shift;
  return latents;
}

}  // namespace precast::flux
