// expect: Policy: Storage<T> needs a dtype, whose dtype_traits<T> has static constexpr name
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<const f32>>;
#else
using P = Policy<Storage<f32>>;
#endif
