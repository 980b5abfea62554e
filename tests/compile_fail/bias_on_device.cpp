// expect: Precast: this op runs in the other memory space: what it writes, and every view that it takes
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/linear.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Bias = Tensor<bf16>;
#else
using Bias = HostTensor<bf16>;
#endif

LinearWeight<P> run(const HostTensor<bf16>& weight, const Bias& bias) {
  return LinearWeight<P>(weight, bias);  // values of the host, uploaded
}
