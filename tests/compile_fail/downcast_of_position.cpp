// expect: Policy: Downcast<...> changes nothing for an op class that it names
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Downcast<Position>>;
#else
using P = Policy<Storage<f16>, Downcast<Pointwise>>;
#endif
