// expect: Precast: this op runs in the other memory space: give it tensors or views of its own backend
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/softmax.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

void run() {
#if defined(MISTAKE)
  const HostTensor<f32> x(Shape{2, 3});  // the host's memory, and a kernel of the device
#else
  const Tensor<f32> x(Shape{2, 3});
#endif
  (void)softmax<Policy<Storage<f32>>>(x);
}
