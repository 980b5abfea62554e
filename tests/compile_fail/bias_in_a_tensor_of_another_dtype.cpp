// expect: Precast: this tensor or view has another dtype than is taken here
#include <precast/ops/conv.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Bias = Tensor<f32>;
#else
using Bias = Tensor<bf16>;
#endif

ConvWeight<P> run(const Tensor<bf16>& weight, const Bias& bias) { return ConvWeight<P>(weight, bias); }
