// expect: Policy: Accumulate<T> contradicts Compute<T>: a sum cannot be narrower than what it adds, nor
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f32>, Accumulate<bf16>>;
#else
using P = Policy<Storage<bf16>, Accumulate<bf16>>;
#endif
