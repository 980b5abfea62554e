// expect: PRECAST_PRESET is none of all, quality, balanced, fast or memory.
#ifdef MISTAKE
#define PRECAST_PRESET_NAME "faster"
#else
#define PRECAST_PRESET_NAME "fast"
#endif
#include <precast/policy/paths.hpp>
