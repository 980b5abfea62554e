// expect: is held without a copy by borrowed(weight, bias)
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/conv.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

ConvWeight<P> run(View<const bf16> weight) {
#if defined(MISTAKE)
  return ConvWeight<P>(weight);
#else
  return ConvWeight<P>::borrowed(weight);
#endif
}
