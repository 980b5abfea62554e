// expect: Precast: in training attention writes and reads its result as rows, a Tensor or View
#include <precast/ops/attention_gradient.hpp>

using namespace precast;

#if defined(MISTAKE)
using Gradient = HeadsView<bf16>;
#else
using Gradient = View<bf16>;
#endif

void run(View<const bf16> rows, HeadsView<const bf16> heads, View<const f32> log_sums, Gradient gradient) {
  attention_gradient_into<Policy<Storage<bf16>>>(rows, heads, heads, heads, rows, log_sums, {}, gradient,
                                                 gradient, gradient);
}
