// expect: Policy: Flash contradicts Downcast<Attention>: an online softmax sums in f32.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Flash, Downcast<Attention>>;
#else
using P = Policy<Storage<f16>, Flash, Downcast<Matmul>>;
#endif
