// expect: Precast: this tensor ends with the expression
#include <precast/ops/softmax.hpp>

using namespace precast;
using P = Policy<Storage<f32>>;

f32* run(View<const f32> x) {
#if defined(MISTAKE)
  const View<f32> y = softmax<P>(x);
#else
  Tensor<f32> result = softmax<P>(x);
  const View<f32> y = result;
#endif
  return y.data();
}
