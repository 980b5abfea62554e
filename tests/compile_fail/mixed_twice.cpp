// expect: Mixed: Transformer<P>, TextEncoder<P> and Vae<P> are each given once.
#include <precast/policy/presets.hpp>

using namespace precast;

#ifdef MISTAKE
using M = Mixed<Transformer<presets::Fast>, Transformer<presets::Fast>, Vae<presets::Quality>>;
#else
using M = Mixed<Vae<presets::Fast>, Transformer<presets::Fast>, TextEncoder<presets::Quality>>;
#endif
