// Errors of reads from memory-mapped files.
#pragma once

namespace precast::cli {

/// Installs a handler for SIGBUS, which a mapped file raises if it was truncated or its disk failed: the
/// program ends with a line that names the file, and exit code 1. May be called before static
/// initialisation.
void handle_lost_files();

}  // namespace precast::cli
