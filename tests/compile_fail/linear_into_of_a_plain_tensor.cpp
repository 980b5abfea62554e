// expect: Precast: linear and conv2d take their weight as a LinearWeight<P> or a ConvWeight<P>
#include <precast/ops/linear.hpp>
#if !defined(MISTAKE)
#include <precast/ops/training_linear.hpp>
#endif

using namespace precast;
using P = Policy<Storage<bf16>>;

void run(View<const bf16> x, const Tensor<bf16>& weight, const Tensor<bf16>& bias, View<bf16> out) {
  linear_into<P>(x, weight, out);
  linear_into<P>(x, weight, bias, out, current_context());
}
