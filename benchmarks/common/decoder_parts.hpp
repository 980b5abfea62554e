// A decoder of pictures as work: its tensors and operations.
#pragma once

#include <cstddef>
#include <cstdint>

#include <support/random_model.hpp>
#include <vae/autoencoder.hpp>

namespace precast::bench {

inline testing::TensorShapes tensors_of_decoder(const vae::AutoencoderConfig& config) {
  testing::TensorShapes shapes = testing::tensors_of(config);
  std::erase_if(shapes, [](const auto& entry) { return !entry.first.starts_with("decoder."); });
  return shapes;
}

/// Operations of a decoder's convolutions and middle attention, for latents of side * side.
inline double decoder_flops(const vae::AutoencoderConfig& config, std::int64_t side) {
  double products = 0;
  const auto conv = [&](std::int64_t in, std::int64_t out, std::int64_t kernel) {
    products += static_cast<double>(side * side * in * out * kernel * kernel);
  };
  const auto residual = [&](std::int64_t in, std::int64_t out) {
    conv(in, out, 3);
    conv(out, out, 3);
    if (in != out) conv(in, out, 1);
  };
  std::int64_t before = config.block_out_channels.back();
  conv(config.latent_channels, before, 3);
  residual(before, before);
  residual(before, before);
  for (int projection = 0; projection < 4; ++projection) conv(before, before, 1);
  products += 2.0 * static_cast<double>(side * side * side * side * before);
  for (std::size_t i = config.block_out_channels.size(); i-- > 0;) {
    const std::int64_t after = config.block_out_channels[i];
    for (std::int64_t j = 0; j <= config.layers_per_block; ++j) residual(j == 0 ? before : after, after);
    before = after;
    if (i == 0) break;
    side *= 2;
    conv(after, after, 3);
  }
  conv(before, config.out_channels, 3);
  return 2 * products;
}

}  // namespace precast::bench
