// The text of `precast --version`.
#pragma once

#include <string>

namespace precast::cli {

/// Sets the commit that the program was built from, "" outside a repository. Only main() knows it, so that
/// a new commit relinks nothing but the program.
void set_commit(const std::string& commit);

/// "precast 0.1.0 (commit 8d2dcaf)", then a line each on presets, precisions and CUDA.
std::string version_text();

}  // namespace precast::cli
