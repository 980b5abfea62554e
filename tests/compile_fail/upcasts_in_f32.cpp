// expect: Policy: Upcast<...> changes nothing for an op class that it names
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f32>, Upcast<Attention, Matmul, Conv>>;
#else
using P = Policy<Storage<bf16>, Upcast<Attention, Matmul, Conv>>;
#endif
