// expect: Precast: what an op writes is a view of values that can be written, not of const ones
#include <precast/ops/matmul.hpp>

using namespace precast;

#if defined(MISTAKE)
using Result = View<const f32>;
#else
using Result = View<f32>;
#endif

void run(View<const f32> a, View<const f32> b, Result out) { matmul_into<Policy<Storage<f32>>>(a, b, out); }
