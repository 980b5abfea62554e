// expect: Policy: Overflow<...> is given twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Overflow<Saturate>, Overflow<Propagate>>;
#else
using P = Policy<Storage<f16>, Overflow<Saturate>>;
#endif
