// expect: PolicyType
#include <precast/policy/presets.hpp>

using namespace precast;

#ifdef MISTAKE
using Component = Transformer<bf16>;
#else
using Component = Transformer<presets::Fast>;
#endif
