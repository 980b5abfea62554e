// expect: Precast: linear takes its weight as a LinearWeight<P>, which packs a tensor or view once
#include <precast/ops/linear.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

Tensor<bf16> run(View<const bf16> x, const Tensor<bf16>& weight, const Tensor<bf16>& bias) {
#if defined(MISTAKE)
  return linear<P>(x, weight, bias);
#else
  return linear<P>(x, LinearWeight<P>(weight, bias));
#endif
}
