// A library that takes memory and gives it back.
#pragma once

#include <cstddef>

#include <precast/memory/memory.hpp>

/// Memory that the library took.
precast::Buffer taken_by_library(std::size_t bytes);
/// The library gives memory back.
void end_in_library(precast::Buffer buffer);
