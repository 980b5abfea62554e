// What a run says on stderr besides warnings and errors; nothing where --quiet is given.
#pragma once

#include <ostream>

namespace precast::cli {

/// Keeps notes and progress to itself from here on: one setting for the program, as its stderr is one.
void set_quiet(bool quiet = true);
bool quiet();

/// stderr, or nowhere where the program is quiet.
std::ostream& notes();

}  // namespace precast::cli
