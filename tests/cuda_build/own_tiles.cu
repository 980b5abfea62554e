// A kernel whose tile differs from one architecture to the next, as flash attention starts it.
#include <precast/cuda/attention/flash_attention.hpp>

namespace precast::gpu {

template void detail::launch_flash_attention<bf16, 256, FlashAttentionSelector<bf16, 256, false>, false,
                                             false>(const detail::FlashArguments<bf16, bf16, bf16, bf16>&,
                                                    Stream);

}  // namespace precast::gpu
