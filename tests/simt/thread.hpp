// Where the running thread is.
#pragma once

#include <array>

namespace simt {

int thread_index();
int threads_in_block();
std::array<int, 3> block_index();
std::array<int, 3> grid_size();

}  // namespace simt
