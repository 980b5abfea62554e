// expect: Precast: attention runs in the other memory space: give it heads of its own backend's
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/attention.hpp>

using namespace precast;

#if defined(MISTAKE)
using Heads = HostHeadsView<const f32>;  // the host's memory, and a kernel of the device
#else
using Heads = DeviceHeadsView<const f32>;
#endif

void run(Heads heads) { (void)attention<Policy<Storage<f32>>>(heads, heads, heads, {}); }
