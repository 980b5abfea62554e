// expect: Policy: Upcast<...> and Downcast<...> take op classes only: Matmul, Conv, Attention, Norm, Softmax,
// Reduction, Loss, Pointwise or Position.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Upcast<Attention, f32>>;
#else
using P = Policy<Storage<bf16>, Upcast<Attention>>;
#endif
