// expect: and a norm's bias of its weight's dtype
#include <precast/ops/layer_norm.hpp>

using namespace precast;

#if defined(MISTAKE)
using Bias = Tensor<f32>;
#else
using Bias = Tensor<bf16>;
#endif

Tensor<bf16> run(const Tensor<bf16>& x, const Tensor<bf16>& weight, const Bias& bias) {
  return layer_norm<Policy<Storage<bf16>>>(x, weight, bias);
}
