// expect: is held without a copy by borrowed(weight, bias)
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/linear.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

LinearWeight<P> run(const Tensor<bf16>& weight, const Tensor<bf16>& bias) {
#if defined(MISTAKE)
  return LinearWeight<P>(weight, bias);
#else
  return LinearWeight<P>::borrowed(weight, bias);
#endif
}
