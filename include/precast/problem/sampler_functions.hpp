// The functions of sampler ops on one value, in f32, with every product and quotient rounded separately, as
// PyTorch's own steps round them: the one definition for both backends.
#pragma once

#include <cmath>
#include <limits>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/math.hpp>

namespace precast::elementwise {

/// A linear combination of one to four values, from left to right: (c0 x0 / first_divisor + c1 x1 + c2 x2 +
/// c3 x3) factor / divisor, no smaller than `low` and no larger than `high`. NaN stays. Factors and
/// divisors of 1 have no effect.
struct Combination {
  f32 coefficients[4] = {1, 1, 1, 1};
  f32 first_divisor = 1, factor = 1, divisor = 1;
  f32 low = -std::numeric_limits<f32>::infinity(), high = std::numeric_limits<f32>::infinity();

  template <class... Rest>
  PRECAST_HOST_DEVICE f32 operator()(f32 first, Rest... rest) const {
    f32 sum = math::rounded_product(coefficients[0], first) / first_divisor;
    int next = 1;
    ((sum = sum + math::rounded_product(coefficients[next++], rest)), ...);
    sum = math::rounded_product(factor, sum) / divisor;
    const f32 above = sum < low ? low : sum;
    return above > high ? high : above;
  }
};

/// Classifier-free guidance: negative + scale (positive - negative).
struct Guidance {
  f32 scale;
  PRECAST_HOST_DEVICE f32 operator()(f32 negative, f32 positive) const {
    return negative + math::rounded_product(scale, positive - negative);
  }
};

/// (x - mean)^2.
struct SquaredDeviation {
  PRECAST_HOST_DEVICE f32 operator()(f32 x, f32 mean) const {
    const f32 deviation = x - mean;
    return deviation * deviation;
  }
};

/// `share` of the guided value rescaled to the standard deviation of another prediction, plus the rest of
/// it as given. Both sums of squared deviations have the same number of terms.
struct RescaledGuidance {
  f32 share, degrees_of_freedom;
  PRECAST_HOST_DEVICE f32 operator()(f32 guided, f32 squares, f32 wanted_squares) const {
    const f32 deviation = std::sqrt(squares / degrees_of_freedom);
    const f32 wanted = std::sqrt(wanted_squares / degrees_of_freedom);
    const f32 rescaled = math::rounded_product(guided, wanted / deviation);
    return math::rounded_product(share, rescaled) + math::rounded_product(1 - share, guided);
  }
};

/// Inpainting: the latents where the mask is 1 (inside), and where it is 0 the image at a level of noise,
/// from_clean clean + from_noise noise.
struct Repainted {
  f32 from_clean, from_noise;
  PRECAST_HOST_DEVICE f32 operator()(f32 latents, f32 clean, f32 noise, f32 mask) const {
    const f32 around = math::rounded_product(from_clean, clean) + math::rounded_product(from_noise, noise);
    return math::rounded_product(1 - mask, around) + math::rounded_product(mask, latents);
  }
};

/// A step of Euler's method over a distance.
struct EulerStep {
  f32 distance;
  PRECAST_HOST_DEVICE f32 operator()(f32 state, f32 velocity) const {
    return state + math::rounded_product(distance, velocity);
  }
};

}  // namespace precast::elementwise
