// expect: Precast: what an op writes is a tensor or view that can be written, not a const one.
#include <precast/ops/pointwise.hpp>

using namespace precast;

#if defined(MISTAKE)
using Result = const Tensor<f32>;
#else
using Result = Tensor<f32>;
#endif

void run(View<const f32> a, View<const f32> b, Result& out) { add_into<Policy<Storage<f32>>>(a, b, out); }
