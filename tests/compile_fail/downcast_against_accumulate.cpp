// expect: Policy: Downcast<...> of Matmul, Conv or Attention contradicts Accumulate<T>: both say what their
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Accumulate<f16>, Downcast<Norm, Conv>>;
#else
using P = Policy<Storage<f16>, Accumulate<f16>, Downcast<Norm>>;
#endif
