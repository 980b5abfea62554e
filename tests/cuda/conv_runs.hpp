// Runs of the device's convolution in the emulator.
#pragma once

#include <cstdint>

#include <cuda/product_runs.hpp>

namespace precast::testing {

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

}  // namespace precast::testing
