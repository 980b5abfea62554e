// expect: Policy: an option is not one of Storage<T>, Compute<T>, Accumulate<T>, Activation<T>,
// Upcast<Op...>, Downcast<Op...>, Flash or Overflow<Saturate>.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, bf16>;
#else
using P = Policy<Storage<bf16>, Compute<bf16>>;
#endif
