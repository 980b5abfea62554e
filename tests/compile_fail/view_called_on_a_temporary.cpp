// expect: The view() of a tensor that ends with the expression is of const ones: give the tensor a name
#include <precast/ops/softmax.hpp>

using namespace precast;
using P = Policy<Storage<f32>>;

f32* run(View<const f32> x) {
#if defined(MISTAKE)
  const View<f32> y = softmax<P>(x).view();
#else
  Tensor<f32> result = softmax<P>(softmax<P>(x).view());
  const View<f32> y = result.view();
#endif
  return y.data();
}
