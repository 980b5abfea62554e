// Compiled with AddressSanitizer: memory goes to the library and comes from it, in small blocks and in large.
#include <cstdio>
#include <cstring>
#include <utility>

#include "memory_of.hpp"

int main() {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{4} << 20}) {
    const auto round = [bytes](precast::Buffer buffer) {
      std::memset(buffer.data(), 1, bytes);
      return buffer;
    };
    { const precast::Buffer theirs = round(taken_by_library(bytes)); }
    end_in_library(round(precast::Buffer(bytes)));
  }
  std::puts("all memory went back");
}
