// The stage that ends every family's pictures: latents become pixels.
#pragma once

#include <cstdint>
#include <functional>

#include <families/request.hpp>
#include <families/stages.hpp>
#include <vae/autoencoder.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::families {

/// Bytes of one picture of a request.
inline std::int64_t picture_bytes(const Request& request) {
  return std::int64_t{3} * *request.width * *request.height;
}

/// How the autoencoder of a request works.
inline vae::Tiling tiling_of(const Request& request) {
  return request.vae_tiling ? vae::Tiling::usual() : vae::Tiling{};
}

/// Decodes the picture of that number and adds it to `result`, with its prompt, its time and its values that
/// are NaN. `latents` makes what the decoder takes of it, [1, h, w, channels].
void decode_picture(const vae::Decoder& decoder, std::int64_t picture,
                    const std::function<HostTensor<f32>()>& latents, const Reporter& progress,
                    const PictureCallback& on_picture, Result& result);

}  // namespace precast::families
