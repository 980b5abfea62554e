// A kernel whose tile differs from one architecture to the next, as flash attention starts it.
#include <precast/cuda/attention/flash_attention.hpp>

namespace precast::gpu {

template void detail::launch_flash_attention<f32, false, 128, FlashAttentionSelector<f32, false, 128, false>,
                                             false, false>(const detail::FlashArguments<f32, f32, f32, f32>&,
                                                           Stream);

}  // namespace precast::gpu
