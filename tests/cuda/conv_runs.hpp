// Runs of the device's convolution in the emulator.
#pragma once

#include <cstdint>

#include <cuda/product_runs.hpp>

namespace precast::testing {

template <class P, class X>
HostTensor<typename precisions<P, Conv>::result> conv_of(
    const ConvCase& c, const HostView<const X>& x, const HostTensor<typename P::storage>& weight,
    const HostTensor<typename P::storage>& bias = {},
    ActivationFunction activate = ActivationFunction::none) {
  using Types = precisions<P, Conv>;
  const ConvSizes sizes = c.sizes();
  HostTensor<typename P::storage> turned({c.features, sizes.patch()});
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  for (std::int64_t f = 0; f < c.features; ++f)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t k = 0; k < c.channels; ++k)
        turned.data()[(f * taps + tap) * c.channels + k] = weight.data()[(f * c.channels + k) * taps + tap];
  auto out =
      not_written<typename Types::result>({sizes.batch, sizes.out_height, sizes.out_width, c.features});
  const auto wide_bias = in_f32(bias);
  gpu::conv<Types, X>(on_device(x), on_device(turned), sizes, Epilogue{on_device(wide_bias), activate},
                      on_device(out), gpu::Stream{});
  return out;
}

}  // namespace precast::testing
