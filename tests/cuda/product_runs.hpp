// Runs of the device's products in the emulator, and what they should give.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <support/arrays.hpp>
#include <support/on_device.hpp>
#include <support/policies.hpp>
#include <support/products.hpp>

#include <precast/cuda/conv/conv.hpp>
#include <precast/cuda/matmul/matmul.hpp>

namespace precast::testing {

/// Values as f32, as ops hand a bias on.
template <class S>
HostTensor<f32> in_f32(const HostTensor<S>& values) {
  HostTensor<f32> wide_values(values.shape());
  for (std::int64_t i = 0; i < values.elements(); ++i)
    wide_values.data()[i] = static_cast<f32>(to_double(values.data()[i]));
  return wide_values;
}

/// Memory for results: NaN where nothing is written.
template <class T>
HostTensor<T> not_written(const Shape& shape) {
  HostTensor<T> tensor(shape);
  for (T& value : tensor.values()) value = from_double<T>(std::nan(""));
  return tensor;
}

/// matmul_transposed as the dispatch has it.
template <class Types, class X, class S>
HostTensor<typename Types::result> product(const HostView<const X>& x, const HostTensor<S>& weight,
                                           const HostTensor<S>& bias = {},
                                           ActivationFunction activate = ActivationFunction::none) {
  auto out = not_written<typename Types::result>({x.rows(), weight.rows()});
  const auto wide_bias = in_f32(bias);
  gpu::matmul_transposed<Types, X>(on_device(x), on_device(weight), Epilogue{on_device(wide_bias), activate},
                                   on_device(out), gpu::Stream{});
  return out;
}
template <class Types, class X, class S>
HostTensor<typename Types::result> product(const HostTensor<X>& x, const HostTensor<S>& weight,
                                           const HostTensor<S>& bias = {},
                                           ActivationFunction activate = ActivationFunction::none) {
  return product<Types>(HostView<const X>(x), weight, bias, activate);
}

/// The tiled kernel with a tile of one's choice, for any number of rows.
template <class Types, gpu::MatmulTile tile, class X, class S>
HostTensor<typename Types::result> tiled_product(const HostTensor<X>& x, const HostTensor<S>& weight,
                                                 const HostTensor<S>& bias = {},
                                                 ActivationFunction activate = ActivationFunction::none) {
  using T = typename Types::result;
  auto out = not_written<T>({x.rows(), weight.rows()});
  const auto wide_bias = in_f32(bias);
  const Epilogue epilogue{on_device(wide_bias), activate};
  gpu::launch_with_tile<Types, gpu::FixedTile<tile>>(
      "matmul", gpu::matrix_rows(on_device(x)), gpu::matrix_rows(on_device(weight)),
      gpu::product_epilogue<Types::saturate>(epilogue, on_device(out)), gpu::Stream{});
  return out;
}

}  // namespace precast::testing
