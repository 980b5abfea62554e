// expect: Policy: Downcast<...> of Matmul, Conv or Attention contradicts Accumulate<T>
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Accumulate<f32>, Downcast<Attention>, Flash>;
#else
using P = Policy<Storage<f16>, Accumulate<f32>, Downcast<Norm>, Flash>;
#endif
