// expect: Policy: Flash contradicts Accumulate<T>: an online softmax sums in f32.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Accumulate<bf16>, Flash>;
#else
using P = Policy<Storage<bf16>, Accumulate<f32>, Flash>;
#endif
