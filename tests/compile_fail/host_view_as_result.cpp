// expect: Precast: this op runs in the other memory space: what it writes, and every view that it takes
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/matmul.hpp>

using namespace precast;

#if defined(MISTAKE)
using Result = HostView<f32>;  // the host's memory, and a kernel of the device
#else
using Result = DeviceView<f32>;
#endif

void run(DeviceView<const f32> a, DeviceView<const f32> b, Result out) {
  matmul_into<Policy<Storage<f32>>>(a, b, out);
}
