// The kernels of flash attention that have most in registers: heads of 256 with a bias, whose weights are
// multiplied in parts.
#include <precast/cuda/attention/flash_attention.hpp>

namespace precast::gpu {

#define PRECAST_STAMP(T)                                                                                 \
  template void detail::launch_flash_attention<T, true, 256, FlashAttentionSelector<T, 256, true>, true, \
                                               false>(const detail::FlashArguments<T, T, T, f32>&, Stream)
PRECAST_STAMP(bf16);
PRECAST_STAMP(f16);
#undef PRECAST_STAMP

}  // namespace precast::gpu
