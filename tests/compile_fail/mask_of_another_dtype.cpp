// expect: a mask and what other options hold f32
#include <precast/ops/attention.hpp>

using namespace precast;

#if defined(MISTAKE)
using Mask = Tensor<bf16>;
#else
using Mask = Tensor<f32>;
#endif

AttentionOptions run(const Mask& mask) { return {.heads = 2, .bias = mask}; }
