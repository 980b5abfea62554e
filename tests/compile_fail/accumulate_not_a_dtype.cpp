// expect: Policy: Accumulate<T> needs a scalar dtype.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Accumulate<int>>;
#else
using P = Policy<Storage<bf16>, Accumulate<f32>>;
#endif
