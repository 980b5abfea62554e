// What kernels do to widen the dtypes whose subnormal numbers are normal in f32: widening.cmake reads its
// PTX.
#include <precast/cuda/device/convert.hpp>

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
