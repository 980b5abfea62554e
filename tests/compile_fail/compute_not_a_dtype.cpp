// expect: Policy: Compute<T> needs a scalar dtype, whose dtype_traits<T> has static constexpr name
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Compute<double>>;
#else
using P = Policy<Storage<bf16>, Compute<f32>>;
#endif
