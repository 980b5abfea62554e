// expect: Policy: Downcast<...> changes nothing for an op class that it names
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f32>, Downcast<Matmul, Softmax, Norm>>;
#else
using P = Policy<Storage<bf16>, Downcast<Matmul, Softmax, Norm>>;
#endif
