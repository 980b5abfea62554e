// expect: Policy: Storage<T> needs a dtype, whose dtype_traits<T> has static constexpr name, values_per_block
// and bytes_per_block.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<double>, Compute<f32>>;
#else
using P = Policy<Storage<f32>, Compute<f32>>;
#endif
