// expect: Policy: this type of a policy is const or a reference, as decltype says of a constant
#include <precast/ops/softmax.hpp>

using namespace precast;

constexpr Policy<Storage<f32>> policy;

#ifdef MISTAKE
using P = decltype(policy);
#else
using P = std::remove_cvref_t<decltype(policy)>;
#endif

Tensor<f32> run(View<const f32> x) { return softmax<P>(x); }
