// Includes any_text.hpp, which has <string>, only where nobody does.
#pragma once

#ifdef PRECAST_NEVER_DEFINED
#include <any_text.hpp>
#endif

inline std::string lacking() { return "lacking"; }
