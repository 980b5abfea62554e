// Convolution on the device: by a library, or by an implicit matrix product, whose tiles gather the patches
// as they are loaded.
#pragma once

#include <type_traits>

#include <precast/cuda/conv/convolve_by_library.hpp>
#include <precast/cuda/conv/implicit_im2col.hpp>
#include <precast/cuda/matmul/matmul.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/cuda/matmul/product_types.hpp>
#include <precast/cuda/matmul/rounded_product.hpp>
#include <precast/cuda/matmul/tiled_product.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/problem/product_kernels.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

/// out [pixels, features] = activate(patches of x times weight [features, kernel_height * kernel_width *
/// channels]^T + bias), with the rounding of `matmul_transposed`. Shapes must fit; ops check them.
template <class Types, class X>
void conv(DeviceView<const X> x, const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
          const Epilogue& epilogue, DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const bool one_by_one = sizes.kernel_height == 1 && sizes.kernel_width == 1 && sizes.stride == 1 &&
                          sizes.out_height == sizes.height && sizes.out_width == sizes.width;
  if (one_by_one) return matmul_transposed<Types, X>(x, weight, epilogue, out, stream);
  using Multiplied = ExactTypes<Types, X>;
  if (convolve_by_library<Multiplied, X>(x, weight.view(), sizes, epilogue, out, stream)) return;
  const auto rows = implicit_im2col(x, sizes);
  auto features = stored_rows(weight.view());
  if (x.elements() == 0) features.columns = 0;  // all patches lie in the padding: nothing is read
  const auto store = product_epilogue<Types::saturate>(epilogue, out);
  if constexpr (std::is_same_v<typename Types::accumulate, f32>)
    launch_tiled_product<ProductTypes<Multiplied>>("conv", rows, features, store, stream);
  else
    launch_rounded_product<ProductTypes<Multiplied>>(rows, features, store, stream);
}

/// The same with a weight that is in device memory already.
template <class Types, class X>
void conv(DeviceView<const X> x, DeviceStoredView<const typename Types::storage> weight,
          const ConvSizes& sizes, const Epilogue& epilogue, DeviceView<typename Types::result> out,
          Stream stream = current_stream()) {
  conv<Types, X>(x, PackedWeight<typename Types::storage>::template borrowed<Types>(weight), sizes, epilogue,
                 out, stream);
}

}  // namespace precast::gpu
