// expect: Policy: Activation<T> is given twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Activation<f32>, Activation<f16>>;
#else
using P = Policy<Storage<f16>, Activation<f32>>;
#endif
