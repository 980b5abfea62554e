// expect: Policy: Upcast<...> changes nothing for an op class that it names
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Upcast<Attention, Reduction>>;
#else
using P = Policy<Storage<f16>, Upcast<Attention>>;
#endif
