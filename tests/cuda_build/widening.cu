// What kernels do to widen the dtypes whose subnormal numbers are normal in f32, and to decode the blocks
// whose scales may be subnormal in it: widening.cmake reads its PTX.
#include <precast/cuda/device/convert.hpp>
#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/decode_chunk.hpp>

using namespace precast;

template <class T>
__device__ void widen_code(T code, f32& to) {
  to = convert_value<f32>(code);
}

__global__ void widen_codes(f16 half, fp8_e4m3 e4m3, fp8_e5m2 e5m2, f32* to) {
  widen_code(half, to[0]);  // as the scale of a block
  widen_code(e4m3, to[1]);
  widen_code(e5m2, to[2]);
}

__global__ void decode_by_subnormal_scales(const mxfp4* e2m1, const mxfp6_e3m2* e3m2, const mxfp8* e4m3,
                                           const fp8_e4m3_row* row, int first, f32* to) {
  decode_chunk<mxfp4, 4>(*e2m1, 0, to);
  dtype_traits<mxfp4>::decode_piece(*e2m1, 0, first, 1, to + 4);
  decode_chunk<mxfp6_e3m2, 4>(*e3m2, 0, to + 5);
  dtype_traits<mxfp6_e3m2>::decode_piece(*e3m2, 0, first, 1, to + 9);
  decode_chunk<mxfp8, 1>(*e4m3, 0, to + 10);
  dtype_traits<fp8_e4m3_row>::decode(*row, first, 1, to + 11);
}
