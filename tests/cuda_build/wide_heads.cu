// The kernels of flash attention that have most in registers: heads of 256 whose weights are multiplied in
// parts, with a bias and without.
#include <precast/cuda/attention/flash_attention.hpp>

namespace precast::gpu {

#define PRECAST_STAMP(T, biased)                                                                             \
  template void                                                                                              \
  detail::launch_flash_attention<T, true, 256, FlashAttentionSelector<T, true, 256, biased>, biased, false>( \
      const detail::FlashArguments<T, T, T, f32>&, Stream)
PRECAST_STAMP(bf16, true);
PRECAST_STAMP(bf16, false);
PRECAST_STAMP(f16, true);
PRECAST_STAMP(f16, false);
#undef PRECAST_STAMP

}  // namespace precast::gpu
