// run: the program as a function, for its own main() and for programs that extend it.
#pragma once

#include <string>
#include <vector>

namespace precast::cli {

/// Runs the program on its arguments (without the program's own name) and returns its exit code. Errors go to
/// stderr, one line each.
int run(const std::vector<std::string>& arguments);

}  // namespace precast::cli
