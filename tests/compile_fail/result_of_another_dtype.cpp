// expect: Precast: this tensor or view has another dtype than is taken here
#include <precast/ops/matmul.hpp>

using namespace precast;

#if defined(MISTAKE)
using Result = Tensor<f16>;
#else
using Result = Tensor<bf16>;  // what the policy's products give
#endif

void run(View<const bf16> a, View<const bf16> b, Result& out) {
  matmul_into<Policy<Storage<bf16>>>(a, b, out);
}
