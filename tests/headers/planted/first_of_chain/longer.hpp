// Includes <string> before lacking.hpp.
#pragma once

#include <string>

#include <lacking.hpp>

inline std::string longer() { return lacking() + "!"; }
