// Forgets <string>, which both.hpp has from any_text.hpp by then.
#pragma once

inline std::string lacking() { return "lacking"; }
