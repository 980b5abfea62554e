// expect: Policy: Upcast<...> contradicts Downcast<...>
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<f16>, Upcast<Attention>, Downcast<Attention>, Flash>;
#else
using P = Policy<Storage<f16>, Upcast<Attention>, Flash>;
#endif
