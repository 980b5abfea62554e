// expect: Precast: this op runs in the other memory space: what it writes, and every view that it takes
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/attention.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Mask = HostTensor<f32>;
#else
using Mask = Tensor<f32>;
#endif

AttentionOptions run(const Mask& mask) { return {.heads = 1, .bias = mask}; }
