// Messages on stderr other than warnings and errors; suppressed by --quiet.
#pragma once

#include <ostream>

namespace precast::cli {

/// Suppresses notes and progress from here on: one setting for the whole program.
void set_quiet(bool quiet = true);
bool quiet();

/// stderr, or a null stream if the program is quiet.
std::ostream& notes();

}  // namespace precast::cli
