// expect: Policy: Overflow<...> takes Saturate or Propagate.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Overflow<f32>>;
#else
using P = Policy<Storage<f16>, Overflow<Saturate>>;
static_assert(P::saturate);
#endif
