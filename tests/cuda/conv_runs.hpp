// Runs of the device's convolutions in the emulator, and what they should give.
#pragma once

#include <cmath>
#include <cstdint>

#include <cuda/product_runs.hpp>

namespace precast::testing {

struct ConvCase {
  std::int64_t batch, height, width, channels, features, kernel_height, kernel_width;
  std::int64_t stride = 1, pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  ConvSizes sizes() const {
    return {.batch = batch,
            .height = height,
            .width = width,
            .channels = channels,
            .kernel_height = kernel_height,
            .kernel_width = kernel_width,
            .stride = stride,
            .pad_top = pad_top,
            .pad_left = pad_left,
            .out_height = (height + pad_top + pad_bottom - kernel_height) / stride + 1,
            .out_width = (width + pad_left + pad_right - kernel_width) / stride + 1};
  }
};

/// The sums, with the weight as files have it: [features, channels, kernel_height, kernel_width].
template <class Types, class X, class S>
ExpectedSums<Types> expected_conv(const ConvCase& c, const X& x, const Tensor<S>& weight,
                                  const Tensor<S>& bias) {
  const auto wide_x = operands<Types>(x), wide_weight = operands<Types>(weight), wide_bias = wide(bias);
  const ConvSizes sizes = c.sizes();
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  ExpectedSums<Types> sums;
  for (std::int64_t pixel = 0; pixel < sizes.pixels(); ++pixel)
    for (std::int64_t f = 0; f < c.features; ++f) {
      double sum = 0, magnitude = 0;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t row = pixel / sizes.out_width;
        const std::int64_t y = row % sizes.out_height * c.stride + tap / c.kernel_width - c.pad_top;
        const std::int64_t z = pixel % sizes.out_width * c.stride + tap % c.kernel_width - c.pad_left;
        if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
        for (std::int64_t k = 0; k < c.channels; ++k) {
          const double term = wide_x[static_cast<std::size_t>(
                                  ((row / sizes.out_height * c.height + y) * c.width + z) * c.channels + k)] *
                              wide_weight[static_cast<std::size_t>((f * c.channels + k) * taps + tap)];
          sum += term;
          magnitude += std::abs(term);
        }
      }
      sums.add(sum, magnitude, taps * c.channels,
               wide_bias.empty() ? 0 : wide_bias[static_cast<std::size_t>(f)]);
    }
  return sums;
}

template <class P, class X>
Tensor<typename precisions<P, Conv>::result> conv_of(const ConvCase& c, const View<const X>& x,
                                                     const Tensor<typename P::storage>& weight,
                                                     const Tensor<typename P::storage>& bias = {},
                                                     Activate activate = Activate::none) {
  using Types = precisions<P, Conv>;
  const ConvSizes sizes = c.sizes();
  Tensor<typename P::storage> turned({c.features, sizes.patch()});
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  for (std::int64_t f = 0; f < c.features; ++f)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t k = 0; k < c.channels; ++k)
        turned.data()[(f * taps + tap) * c.channels + k] = weight.data()[(f * c.channels + k) * taps + tap];
  auto out =
      not_written<typename Types::result>({sizes.batch, sizes.out_height, sizes.out_width, c.features});
  const auto wide_bias = in_f32(bias);
  cuda::conv<Types, X>(x, turned, sizes, Epilogue{wide_bias.values(), activate}, out, cuda::Stream{});
  return out;
}

template <class T>
Tensor<T> weight_of(const ConvCase& c, std::uint32_t seed) {
  return random_tensor<T>({c.features, c.channels, c.kernel_height, c.kernel_width}, seed, 0.3);
}

}  // namespace precast::testing
