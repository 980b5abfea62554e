// expect: Policy: Compute<T> changes nothing: Upcast<...> names Matmul, Conv
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Compute<f16>, Activation<bf16>, Upcast<Matmul, Conv, Attention>>;
#else
using P = Policy<Storage<bf16>, Compute<f16>, Upcast<Matmul, Conv, Attention>>;  // activations are f16
#endif
