// CUDA's own types of small floats as Precast's dtypes: pointers to __half, __nv_bfloat16, __nv_fp8_e4m3 and
// __nv_fp8_e5m2 become views. For nvcc, and for a host compiler that finds the toolkit's headers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <precast/interop/foreign_dtype.hpp>

namespace precast::interop {

template <>
struct foreign_dtype<__half> {
  using type = f16;
};
template <>
struct foreign_dtype<__nv_bfloat16> {
  using type = bf16;
};
template <>
struct foreign_dtype<__nv_fp8_e4m3> {
  using type = fp8_e4m3;
};
template <>
struct foreign_dtype<__nv_fp8_e5m2> {
  using type = fp8_e5m2;
};

static_assert(sizeof(__half) == sizeof(f16) && sizeof(__nv_bfloat16) == sizeof(bf16) &&
                  sizeof(__nv_fp8_e4m3) == sizeof(fp8_e4m3) && sizeof(__nv_fp8_e5m2) == sizeof(fp8_e5m2),
              "cuda_types: CUDA's types have the sizes of Precast's dtypes.");

}  // namespace precast::interop
