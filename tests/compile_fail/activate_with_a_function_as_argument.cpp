// expect: Precast: an activation function is a template argument, activate<P, elementwise::Silu>(x)
#include <precast/ops/activate.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

Tensor<bf16> run(View<const bf16> x) {
#ifdef MISTAKE
  return activate<P>(x, elementwise::Silu{});
#else
  return activate<P, elementwise::Silu>(x);
#endif
}
