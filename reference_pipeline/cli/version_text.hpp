// What `precast --version` says.
#pragma once

#include <string>

namespace precast::cli {

/// The commit that the program is built from, which only its main() knows, so that a new commit links no more
/// than the program anew. "" where it is built from no repository.
void set_commit(const std::string& commit);

/// "precast 0.1.0 (commit 8d2dcaf)", then a line each on presets, precisions and CUDA.
std::string version_text();

}  // namespace precast::cli
