// The kernels of attention's gradients whose weights are made of a scaled score and of the logarithm of its
// row's sum: rounded_scores.cmake looks for the scaling in their PTX.
#include <precast/ops/attention_gradient.hpp>

using namespace precast;

using Types = gradient_precisions<Policy<Storage<f32>>, Attention>;

namespace precast::gpu::detail {

template PRECAST_KERNEL void tiled_rests_kernel<Types, f32, 32, f32, f32>(
    const TiledRestsArguments<f32, f32>);
template PRECAST_KERNEL void tiled_gradient_kernel<Types, f32, 32, false, f32, f32, f32, f32>(
    const TiledGradientArguments<f32, f32, f32, f32, f32>);

}  // namespace precast::gpu::detail
