// expect: Policy: Upcast<...> changes nothing for an op class that it names
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f32>, Upcast<Attention>>;
#else
using P = Policy<Storage<f32>, Compute<tf32>, Upcast<Attention>>;
#endif
