// expect: PRECAST_PRESET is neither all nor a preset of policy/presets.hpp.
#ifdef MISTAKE
#define PRECAST_PRESET_NAME "faster"
#else
#define PRECAST_PRESET_NAME "fast"
#endif
#include <precast/policy/paths.hpp>
