// expect: Policy: Upcast<...> contradicts Downcast<...>: both name the same op class.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Upcast<Attention>, Downcast<Norm, Attention>>;
#else
using P = Policy<Storage<f16>, Upcast<Attention>, Downcast<Norm>>;
#endif
