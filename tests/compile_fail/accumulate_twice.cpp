// expect: Policy: Accumulate<T> is given twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Accumulate<f32>, Storage<bf16>, Accumulate<bf16>>;
#else
using P = Policy<Accumulate<f32>, Storage<bf16>>;
#endif
