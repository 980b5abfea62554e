// expect: Precast: this op runs in the other memory space: what it writes, and every view that it takes
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/softmax.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

void run(const Tensor<f32>& x) {
#if defined(MISTAKE)
  HostTensor<f32> out(x.shape());  // the host's memory, and a kernel of the device
#else
  Tensor<f32> out(x.shape());
#endif
  softmax_into<Policy<Storage<f32>>>(x, out);
}
