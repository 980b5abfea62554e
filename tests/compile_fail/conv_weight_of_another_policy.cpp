// expect: Precast: this weight is held for another policy than the op's: give both the same policy
#include <precast/ops/conv.hpp>

using namespace precast;
using InHalf = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Weight = ConvWeight<Policy<Storage<f32>>>;
#else
using Weight = ConvWeight<InHalf>;
#endif

Tensor<bf16> run(View<const bf16> x, const Weight& weight) { return conv2d<InHalf>(x, weight); }
