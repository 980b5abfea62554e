// Whether this build can watch ops, asked before anything is read or computed.
#pragma once

#include <string>

namespace precast::cli {

/// Throws PathNotCompiled where ops of this build cannot be watched, which an option does.
void require_watch(const std::string& option);

}  // namespace precast::cli
