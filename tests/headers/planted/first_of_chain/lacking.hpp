// Forgets <string>.
#pragma once

inline std::string lacking() { return "lacking"; }
