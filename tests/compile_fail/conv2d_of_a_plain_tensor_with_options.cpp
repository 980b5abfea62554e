// expect: Precast: conv2d takes its weight as a ConvWeight<P>, which packs a tensor or view once
#include <precast/ops/conv.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Weight = Tensor<bf16>;
#else
using Weight = ConvWeight<P>;
#endif

Tensor<bf16> run(View<const bf16> x, const Weight& weight) { return conv2d<P>(x, weight, {.stride = 2}); }
