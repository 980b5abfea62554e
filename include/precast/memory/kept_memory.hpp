// KeptMemory: for work that allocates and frees the same memory again and again.
#pragma once

#include <precast/memory/block_cache.hpp>
#include <precast/memory/memory.hpp>

namespace precast {

/// While one lives, in any thread, the host's pool keeps freed blocks up to the peak in use, and asks the
/// system for huge pages. A training step frees the results of all layers before the next one allocates
/// them again: beyond the pool's usual limit they would come back zeroed, page by page. The end of the last
/// KeptMemory gives the free blocks back to the system. Dry runs follow the same rule.
class KeptMemory {
 public:
  KeptMemory() { BlockCache::kept_memory_scopes().add(1); }
  ~KeptMemory() {
    if (BlockCache::kept_memory_scopes().add(-1) == 0) release_cached_memory();
  }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
};

}  // namespace precast
