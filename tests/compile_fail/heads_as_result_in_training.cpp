// expect: Precast: in training attention writes and reads its result as rows, a Tensor or View
#include <precast/ops/attention_gradient.hpp>

using namespace precast;

#if defined(MISTAKE)
using Result = HeadsView<bf16>;
#else
using Result = View<bf16>;
#endif

void run(HeadsView<const bf16> heads, Result out, View<f32> log_sums) {
  attention_with_log_sums_into<Policy<Storage<bf16>>>(heads, heads, heads, {}, out, log_sums);
}
