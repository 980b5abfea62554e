// A block's shared memory as the asynchronous proxy sees it: what copies wrote, and of threads' own writes
// those that a fence has handed over. The rest is NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <simt/runtime/shared_memory.hpp>

namespace simt::runtime {

class AsyncProxy {
 public:
  explicit AsyncProxy(SharedMemory& shared) : shared_(shared) {}

  /// A block without this until it uses one of the proxy's instructions.
  void start_block(int threads);
  /// From here on accesses are noted. What was written before has no known writer, and is handed over when
  /// every thread of the block has fenced.
  void begin();

  void note_write(int thread, const void* address, std::size_t bytes);
  void fence(int thread);
  /// The engine's write: seen by both.
  void write(std::size_t offset, const void* from, std::size_t bytes);
  const unsigned char* at(std::size_t offset) const { return view_.data() + offset; }

 private:
  struct Range {
    std::size_t first, end;
  };
  void hand_over(const Range& range);

  SharedMemory& shared_;
  bool begun_ = false;
  std::vector<unsigned char> view_;
  std::vector<char> has_writer_;             // a flag a byte
  std::vector<std::vector<Range>> written_;  // by each thread since its last fence
  std::vector<char> has_fenced_;
  int fenced_ = 0, threads_ = 0;
};

}  // namespace simt::runtime
