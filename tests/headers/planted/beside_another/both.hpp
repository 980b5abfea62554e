// Includes any_text.hpp before lacking.hpp.
#pragma once

#include <any_text.hpp>
#include <lacking.hpp>

inline std::string both() { return after(lacking()); }
