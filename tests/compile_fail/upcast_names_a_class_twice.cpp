// expect: Policy: Upcast<...> or Downcast<...> names an op class twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Upcast<Attention, Matmul, Attention>>;
#else
using P = Policy<Storage<bf16>, Upcast<Attention, Matmul>>;
#endif
