// expect: Policy: Compute<T> is given twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Compute<f32>, Compute<bf16>>;
#else
using P = Policy<Storage<bf16>, Compute<f32>>;
#endif
