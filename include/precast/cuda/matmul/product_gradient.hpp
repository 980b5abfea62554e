// Products a b and a^T b, which sum over the rows of the right side. The library reads both sides as they
// are stored; for our own kernels they are transposed to the form x W^T, at the cost of reading and writing
// them once.
#pragma once

#include <cstdint>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/matmul/matmul.hpp>
#include <precast/cuda/matmul/multiply_without_transpose.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/matmul/product_types.hpp>
#include <precast/cuda/matmul/transpose.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// Adds a gradient to the one that is stored, and rounds the sum.
template <class To, bool Saturates>
struct AddGradient {
  PRECAST_DEVICE To operator()(To there, f32 gradient) const {
    return round_to<To, Saturates>(planted<"gradient not added">(to_f32(there), 0.0f) + gradient);
  }
};
/// Rounds a gradient to the dtype that it is stored in.
template <class To, bool Saturates>
struct StoreGradient {
  PRECAST_DEVICE To operator()(f32 gradient) const { return round_to<To, Saturates>(gradient); }
};

/// Stores gradients, or adds them to those in `out`.
template <bool Saturates, class To>
void store_gradients(DeviceView<const f32> gradients, bool accumulate, DeviceView<To> out, Stream stream) {
  if (accumulate)
    map_arrays("add_gradients", AddGradient<To, Saturates>{}, out, stream, DeviceView<const To>(out),
               gradients);
  else
    map_arrays("store_gradients", StoreGradient<To, Saturates>{}, out, stream, gradients);
}

}  // namespace detail

/// out [M, N] = a [M, K] b [K, N], rounded as matmul_transposed rounds.
template <class Types, class A, class B>
void multiply(DeviceView<const A> a, DeviceView<const B> b, DeviceView<typename Types::result> out,
              Stream stream) {
  using Row = with_storage<Types, B>;
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  if (multiply_without_transpose<ExactTypes<Row, A>>(a, LeftSide::by_rows, b, {}, out, stream)) return;
  const StreamScope scope(stream);  // for the memory of `right`
  const auto right = transposed_over(b, stream);
  matmul_transposed<Row>(a, right.view(), Epilogue{}, out, stream);
}

/// out [M, N] = a^T b for a [K, M] and b [K, N], the sum over all rows; or added to what `out` holds.
template <class Types, class A, class B>
void multiply_over_rows(DeviceView<const A> a, DeviceView<const B> b, const GradientOptions& options,
                        DeviceView<typename Types::result> out, Stream stream) {
  using Row = with_storage<Types, B, f32>;
  using StoredTypes = with_storage<Types, B>;
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  if (multiply_without_transpose<ExactTypes<StoredTypes, A>>(a, LeftSide::transposed, b, options, out,
                                                             stream))
    return;
  const StreamScope scope(stream);  // for the memory of both sides and the sums
  Tensor<f32, Memory> sums(Shape{out.rows(), out.columns()});
  if (a.rows() == 0) {  // a sum of nothing
    sums = Tensor<f32, Memory>(sums.shape(), std::vector<f32>(static_cast<std::size_t>(sums.elements())));
  } else {
    const auto left = transposed_over(a, stream);
    const auto right = transposed_over(b, stream);
    matmul_transposed<Row>(left.view(), right.view(), Epilogue{}, sums.view(), stream);
  }
  watch::ran_in<Types>();
  detail::store_gradients<Types::saturate>(DeviceView<const f32>(sums.view()), options.accumulate, out,
                                           stream);
}

}  // namespace precast::gpu
