// KeptMemory: for work that takes the same memory again and again, and gives it back in between.
#pragma once

#include <precast/memory/block_cache.hpp>
#include <precast/memory/memory.hpp>

namespace precast {

/// While one lives, in any thread, the pool of the host's memory keeps what was freed up to the most that was
/// in use, and asks the system for large pages. A step of training frees the results of all layers before the
/// next one takes them again: beyond the pool's usual limit they would come back zeroed, page by page. After
/// the last one the free blocks go back to the system. Dry runs count by the same rule.
class KeptMemory {
 public:
  KeptMemory() { BlockCache::keepers_of_peak().add(1); }
  ~KeptMemory() {
    if (BlockCache::keepers_of_peak().add(-1) == 0) release_cached_memory();
  }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
};

}  // namespace precast
