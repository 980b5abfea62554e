// Kernels that load runs of values and store others: stores.cmake counts the stores of their PTX, and
// no_contraction.cmake looks for products of AdamW that nvcc contracts with a sum.
#include <span>

#include <precast/cuda/optimiser/adamw.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>

using namespace precast;
using namespace precast::gpu;

void convert(DeviceView<const bf16> from, DeviceView<f16> to, Stream stream) {
  convert_values<f16, false>(from, to, stream);
}
void convert(DeviceView<const f32> from, DeviceView<fp8_e4m3> to, Stream stream) {
  convert_values<fp8_e4m3, false>(from, to, stream);
}
void step(std::span<const AdamWArrays<f32, bf16>> parameters, const AdamWStep<f32>& step, Stream stream) {
  adamw<f32, bf16>(parameters, step, stream);
}
