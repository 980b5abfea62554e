// expect: Policy: Accumulate<T> changes nothing: Upcast<...> names Matmul, Conv and Attention
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Accumulate<f16>, Upcast<Matmul, Conv, Attention>>;
#else
using P = Policy<Storage<f16>, Accumulate<f16>, Upcast<Matmul, Attention>>;
#endif
