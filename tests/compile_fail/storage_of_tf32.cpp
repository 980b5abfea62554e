// expect: Policy: Storage<T> needs a dtype that memory can hold; tf32 is a format of operands only.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<tf32>>;
#else
using P = Policy<Storage<f32>, Compute<tf32>>;
#endif
