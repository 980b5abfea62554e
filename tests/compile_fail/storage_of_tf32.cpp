// expect: Policy: Storage<T> needs a dtype that memory can hold; a format of operands, such as tf32, is not.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<tf32>>;
#else
using P = Policy<Storage<f32>, Compute<tf32>>;
#endif
