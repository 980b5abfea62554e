// Declarations of the kernels of products and convolutions, for either backend; documented at the
// definitions.
#pragma once

#include <precast/dtype/dtype.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/view.hpp>

namespace precast::PRECAST_KERNELS {

template <Dtype Storage>
class PackedWeight;
template <class Types, class X>
void matmul_transposed(View<const X> x, const PackedWeight<typename Types::storage>& weight,
                       const Epilogue& epilogue, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class X>
void matmul_transposed(View<const X> x, StoredView<const typename Types::storage> weight,
                       const Epilogue& epilogue, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class A>
void matmul(View<const A> a, View<const typename Types::storage> b,
            View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class X>
void conv(View<const X> x, const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
          const Epilogue& epilogue, View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
