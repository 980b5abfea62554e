// Runs of the device's products in the emulator, and what they should give.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <support/arrays.hpp>
#include <support/policies.hpp>
#include <support/products.hpp>

#include <precast/cuda/conv/conv.hpp>
#include <precast/cuda/matmul/matmul.hpp>

namespace precast::testing {

/// Values as f32, as ops hand a bias on.
template <class S>
Tensor<f32> in_f32(const Tensor<S>& values) {
  Tensor<f32> wide_values(values.shape());
  for (std::int64_t i = 0; i < values.elements(); ++i)
    wide_values.data()[i] = static_cast<f32>(to_double(values.data()[i]));
  return wide_values;
}

/// Memory for results: NaN where nothing is written.
template <class T>
Tensor<T> not_written(const Shape& shape) {
  Tensor<T> tensor(shape);
  for (T& value : tensor.values()) value = from_double<T>(std::nan(""));
  return tensor;
}

/// matmul_transposed as the dispatch has it.
template <class Types, class X, class S>
Tensor<typename Types::result> product(const View<const X>& x, const Tensor<S>& weight,
                                       const Tensor<S>& bias = {}, Activate activate = Activate::none) {
  auto out = not_written<typename Types::result>({x.rows(), weight.rows()});
  const auto wide_bias = in_f32(bias);
  cuda::matmul_transposed<Types, X>(x, weight, Epilogue{wide_bias.values(), activate}, out, cuda::Stream{});
  return out;
}
template <class Types, class X, class S>
Tensor<typename Types::result> product(const Tensor<X>& x, const Tensor<S>& weight,
                                       const Tensor<S>& bias = {}, Activate activate = Activate::none) {
  return product<Types>(View<const X>(x), weight, bias, activate);
}

/// The tiled kernel with a tile of one's choice, for any number of rows.
template <class Types, cuda::MatmulTile tile, class X, class S>
Tensor<typename Types::result> tiled_product(const Tensor<X>& x, const Tensor<S>& weight,
                                             const Tensor<S>& bias = {}, Activate activate = Activate::none) {
  using T = typename Types::result;
  auto out = not_written<T>({x.rows(), weight.rows()});
  const auto wide_bias = in_f32(bias);
  const Epilogue epilogue{wide_bias.values(), activate};
  cuda::start_product_of_tiles<Types, tile>(
      "matmul", cuda::matrix_rows(View<const X>(x)), cuda::matrix_rows(View<const S>(weight)),
      cuda::sums_store<Types::saturate>(epilogue, View<const T>{}, out.view()), cuda::Stream{});
  return out;
}

}  // namespace precast::testing
