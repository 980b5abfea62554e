// Standard input, output and error, which the parent process may have closed.
#pragma once

namespace precast::cli {

/// Opens /dev/null for closed standard streams: otherwise the next opened file would take their number, and
/// messages end up in it. Writes to them fail as before. To be called before any file is opened.
void hold_standard_streams();

}  // namespace precast::cli
