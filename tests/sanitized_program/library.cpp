// Compiled without AddressSanitizer.
#include "memory_of.hpp"

precast::Buffer taken_by_library(std::size_t bytes) { return precast::Buffer(bytes); }

void end_in_library(precast::Buffer buffer) { buffer = precast::Buffer(); }
