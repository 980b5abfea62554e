// expect: Policy: this is an option, where a policy is needed
#include <precast/ops/softmax.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Storage<f32>;
#else
using P = Policy<Storage<f32>>;
#endif

Tensor<f32> run(View<const f32> x) { return softmax<P>(x); }
