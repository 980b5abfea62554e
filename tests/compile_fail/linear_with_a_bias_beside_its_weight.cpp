// expect: Precast: linear and conv2d take their weight as a LinearWeight<P> or a ConvWeight<P>
#include <precast/ops/linear.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

Tensor<bf16> run(View<const bf16> x, const Tensor<bf16>& weight, const Tensor<bf16>& bias) {
#if defined(MISTAKE)
  return linear<P>(x, weight, bias);
#else
  return linear<P>(x, LinearWeight<P>(weight, bias));
#endif
}
