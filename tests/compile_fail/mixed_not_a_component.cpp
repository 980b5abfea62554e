// expect: Mixed: a component is not one of Transformer<P>, TextEncoder<P> or Vae<P>.
#include <precast/policy/presets.hpp>

using namespace precast;

#ifdef MISTAKE
using M = Mixed<Transformer<presets::Fast>, TextEncoder<presets::Fast>, presets::Quality>;
#else
using M = Mixed<Transformer<presets::Fast>, TextEncoder<presets::Fast>, Vae<presets::Quality>>;
#endif
