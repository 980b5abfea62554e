// expect: Precast: attention runs in the other memory space: the heads that it writes are its own backend's
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/attention.hpp>

using namespace precast;

#if defined(MISTAKE)
using Result = HostHeadsView<f32>;  // the host's memory, and a kernel of the device
#else
using Result = DeviceHeadsView<f32>;
#endif

void run(DeviceHeadsView<const f32> heads, Result out) {
  attention_into<Policy<Storage<f32>>>(heads, heads, heads, {}, out);
}
