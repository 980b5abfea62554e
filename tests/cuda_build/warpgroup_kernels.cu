// The kernels of warpgroups, as the ops start them: what nvcc makes of them for sm_90a.
#include <precast/cuda/attention/warpgroup_kernel.hpp>
#include <precast/cuda/conv/implicit_im2col.hpp>
#include <precast/cuda/matmul/product_types.hpp>
#include <precast/cuda/matmul/tiled_product.hpp>
#include <precast/dtype/blocks/k_blocks.hpp>

namespace precast::gpu {

template <class T>
using Given = detail::WarpgroupArguments<T>;

#define PRECAST_STAMP(T, whole_weights, width, biased)                                                \
  template PRECAST_KERNEL void warpgroup_attention_kernel<T, whole_weights, width, biased, false, T>( \
      PRECAST_GRID_CONSTANT const Given<T>)
#define PRECAST_STAMP_EACH(T, whole_weights)   \
  PRECAST_STAMP(T, whole_weights, 64, false);  \
  PRECAST_STAMP(T, whole_weights, 64, true);   \
  PRECAST_STAMP(T, whole_weights, 128, false); \
  PRECAST_STAMP(T, whole_weights, 128, true)
PRECAST_STAMP_EACH(bf16, false);
PRECAST_STAMP_EACH(f16, false);
PRECAST_STAMP_EACH(f16, true);
#ifndef __CUDACC_RDC__  // there, without setmaxnreg, registers have no place for weights in three parts
PRECAST_STAMP_EACH(bf16, true);
#endif
#undef PRECAST_STAMP_EACH
#undef PRECAST_STAMP

// Products: of what is copied, decoded and rounded on its way.
template <class Storage, class Operand, class Result>
using Row = ProductTypes<OpDtypes<Storage, Operand, f32, NoDtype, Result>>;
template <class T>
using Matrix = decltype(matrix_rows(DeviceView<const T>()));
template <class T>
using Picture = decltype(implicit_im2col(DeviceView<const T>(), ConvSizes()));

#define PRECAST_STAMP(Types, Source, size)                                                         \
  template PRECAST_KERNEL void tiled_product<Types, Source, MatmulSelector<MatmulTileSize::size>>( \
      const TiledProduct<Types, Source>)
using Copied = Row<bf16, bf16, bf16>;
using Decoded = Row<q4_k, f16, f16>;
using Rounded = Row<f32, bf16, f32>;
PRECAST_STAMP(Copied, Matrix<bf16>, small);
PRECAST_STAMP(Copied, Matrix<bf16>, large);
#ifndef __CUDACC_RDC__  // there the divisions that find a pixel are calls, before which products are waited
                        // for
PRECAST_STAMP(Copied, Picture<bf16>, large);
#endif
PRECAST_STAMP(Decoded, Matrix<f16>, large);
PRECAST_STAMP(Rounded, Matrix<f32>, large);
#undef PRECAST_STAMP

}  // namespace precast::gpu
