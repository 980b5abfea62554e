// expect: Policy: Upcast<...> or Downcast<...> names an op class twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Downcast<Norm, Norm>>;
#else
using P = Policy<Storage<bf16>, Downcast<Norm>>;
#endif
