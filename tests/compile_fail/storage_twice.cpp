// expect: Policy: Storage<T> is given twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Storage<f32>>;
#else
using P = Policy<Storage<bf16>, Compute<f32>>;
#endif
