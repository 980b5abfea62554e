// expect: Policy: Flash is given twice.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Flash, Storage<bf16>, Flash>;
#else
using P = Policy<Flash, Storage<bf16>>;
#endif
