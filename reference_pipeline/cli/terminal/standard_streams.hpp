// Standard input, output and error, which whoever starts the program may have closed.
#pragma once

namespace precast::cli {

/// Takes the places of those that are closed: the next file that is opened would have them, and be written
/// what is said there. Writes to them fail as before. To be called before any file is opened.
void hold_standard_streams();

}  // namespace precast::cli
