// expect: Policy: Storage<T> needs a dtype that memory can hold; tf32 is a format of operands only.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<double>>;
#else
using P = Policy<Storage<f32>>;
#endif
