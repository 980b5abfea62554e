// Files that are read where they lie in memory, and are no longer there.
#pragma once

namespace precast::cli {

/// From now on the system's signal that a mapped file cannot be read (SIGBUS), because it has become shorter
/// or its disk has failed, ends the program with a line that names the file, and 1. May be called before
/// anything else of the program is ready.
void tell_lost_files();

}  // namespace precast::cli
