// expect: Precast: linear takes its weight as a LinearWeight<P>, which packs a tensor or view once
#include <precast/ops/linear.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Weight = Tensor<bf16>;
#else
using Weight = LinearWeight<P>;
#endif

Tensor<bf16> run(View<const bf16> x, const Weight& weight) {
  return linear<P>(x, weight, {.activation = ActivationFunction::silu});
}
