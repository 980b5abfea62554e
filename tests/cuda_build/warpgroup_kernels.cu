// The kernels of warpgroups, as the ops start them: what nvcc makes of them for sm_90a.
#include <precast/cuda/attention/warpgroup_kernel.hpp>

namespace precast::gpu {

template <class T>
using Given = detail::WarpgroupArguments<T>;

#define PRECAST_STAMP(T, width, biased)                                                \
  template PRECAST_KERNEL void warpgroup_attention_kernel<T, width, biased, false, T>( \
      PRECAST_GRID_CONSTANT const Given<T>)
PRECAST_STAMP(bf16, 64, false);
PRECAST_STAMP(bf16, 64, true);
PRECAST_STAMP(bf16, 128, false);
PRECAST_STAMP(bf16, 128, true);
PRECAST_STAMP(f16, 64, false);
PRECAST_STAMP(f16, 64, true);
PRECAST_STAMP(f16, 128, false);
PRECAST_STAMP(f16, 128, true);
#undef PRECAST_STAMP

}  // namespace precast::gpu
