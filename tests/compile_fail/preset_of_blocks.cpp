// expect: A preset stores weights in a scalar dtype, to which they are rounded as they are loaded: what
// a file has in blocks stays so under any policy, and no model has all of its weights in blocks.
#include <families/preset_registration.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<q8_0>>;
#else
using P = Policy<Storage<bf16>>;
#endif
const families::PresetRegistration<P> mine{"mine", "weights in blocks"};
