// expect: Precast: linear and conv2d take their weight as a LinearWeight<P> or a ConvWeight<P>
#include <precast/ops/linear.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Weight = Tensor<bf16>;
#else
using Weight = LinearWeight<P>;
#endif

Tensor<bf16> run(View<const bf16> x, const Weight& weight) { return linear<P>(x, weight); }
