// Mistakes that a test can switch on in a kernel, to see that it fails then.
#pragma once

namespace simt {

/// Whether the fault of this name is switched on in the running kernel; tells the session that there is one.
bool is_planted(const char* name);

}  // namespace simt
