// AdamW's kernel, as a step starts it: whether nvcc contracts what AdamWStep rounds twice.
#include <precast/cuda/optimiser/adamw.hpp>

namespace precast::gpu::detail {

template PRECAST_KERNEL void adamw_kernel<f32, f32>(ParameterChunks<AdamWPointers<f32, f32>>, AdamWStep<f32>);

}  // namespace precast::gpu::detail
