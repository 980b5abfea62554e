// expect: Precast: these heads have another dtype than is taken here
#include <precast/ops/attention.hpp>

using namespace precast;

#if defined(MISTAKE)
using Result = HeadsView<f32>;
#else
using Result = HeadsView<bf16>;  // what the policy's attention gives
#endif

void run(HeadsView<const bf16> heads, Result out) {
  attention_into<Policy<Storage<bf16>>>(heads, heads, heads, {}, out);
}
