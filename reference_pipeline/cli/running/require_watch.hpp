// Checks that this build can watch ops, before anything is read or computed.
#pragma once

#include <string>

namespace precast::cli {

/// Throws PathNotCompiled, naming the option that needs it, if this build cannot watch ops.
void require_watch(const std::string& option);

}  // namespace precast::cli
