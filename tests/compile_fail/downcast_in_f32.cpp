// expect: Policy: Downcast<...> changes nothing for an op class that it names
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Compute<f32>, Downcast<Norm>>;
#else
using P = Policy<Storage<f32>, Compute<f16>, Downcast<Norm>>;
#endif
