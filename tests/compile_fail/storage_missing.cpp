// expect: Policy: Storage<T> is missing: say which dtype holds the parameters.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Compute<bf16>>;
#else
using P = Policy<Storage<bf16>>;
#endif
