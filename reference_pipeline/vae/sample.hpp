// Samples from the encoder's distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <vae/autoencoder.hpp>

namespace precast::vae {

/// Value i of a sample, from a standard normal number, clamped as diffusers' DiagonalGaussianDistribution.
inline f32 sampled_value(const Moments& moments, std::int64_t i, f32 normal) {
  const f32 log_variance = std::clamp(moments.log_variance.data()[i], -30.0f, 20.0f);
  return moments.mean.data()[i] + std::exp(0.5f * log_variance) * normal;
}

}  // namespace precast::vae
