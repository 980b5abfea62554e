// Includes what it needs.
#pragma once

#include <string>

inline std::string after(const std::string& word) { return word + "!"; }
