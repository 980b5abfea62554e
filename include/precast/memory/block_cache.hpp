// BlockCache: which freed blocks a memory pool keeps, by their sizes. The addresses are the pool's; a dry
// run, which has none, follows the same rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include <precast/memory/address_sanitizer.hpp>
#include <precast/memory/held.hpp>

namespace precast {

/// Keeps freed large blocks for the next request of their size. At each large request the pool's total, in
/// use and free, is kept to the peak in use plus a mebibyte. A request for a size of which a block has been
/// given back raises that limit by one such block. So code whose sizes change as it goes on, such as a
/// decoder, holds what it uses, and a loop allocates nothing new after its second iteration.
class BlockCache {
 public:
  static constexpr std::size_t smallest = std::size_t{1} << 20;
  /// Whether pools keep any block. AddressSanitizer would miss accesses to a kept block after its free.
  static bool is_used() { return !detail::address_sanitizer_runs(); }
  /// The limit of free bytes; while a KeptMemory (memory/kept_memory.hpp) lives, the peak in use where that
  /// is more.
  static constexpr std::int64_t most = std::int64_t{1} << 30;
  static SharedCount& kept_memory_scopes() {
    static SharedCount count;
    return count;
  }
  static bool keeps_peak() { return kept_memory_scopes().value() > 0; }

  /// A block of that size is requested while `in_use` bytes are in use: true where a free one is taken.
  /// Else `give_back` is called with the size of each block to return to the system first. Small requests
  /// have no effect: tasks make theirs at varying times, on which what is held must not depend.
  template <class GiveBack>
  bool take(std::size_t bytes, std::int64_t in_use, GiveBack&& give_back) {
    if (bytes < smallest) return false;
    const auto size = static_cast<std::int64_t>(bytes);
    most_in_use_ = std::max(most_in_use_, in_use + size);
    if (one_of(free_, bytes)) {
      held_ -= size;
      return true;
    }
    if (one_of(given_back_, bytes)) allowed_beside_ += size;
    // In the second iteration of a loop the total is the peak in use, to the byte: the few bytes that a
    // task allocates for itself, which a dry run does not count one by one, must not evict a block.
    constexpr std::int64_t few = smallest;
    while (!free_.empty() && in_use + size + held_ > most_in_use_ + allowed_beside_ + few) {
      const std::size_t largest = std::prev(free_.end())->first;
      ++given_back_[largest];
      one_of(free_, largest);
      held_ -= static_cast<std::int64_t>(largest);
      give_back(largest);
    }
    return false;
  }
  /// A block was freed: returns whether it is kept.
  bool keep(std::size_t bytes) noexcept {
    const auto size = static_cast<std::int64_t>(bytes);
    if (bytes < smallest || held_ + size > (keeps_peak() ? std::max(most, most_in_use_) : most)) return false;
    try {
      ++free_[bytes];
    } catch (...) {  // one block less is kept
      return false;
    }
    held_ += size;
    return true;
  }
  /// Forgets all free blocks and what was learnt.
  void clear() {
    free_.clear();
    given_back_.clear();
    held_ = allowed_beside_ = most_in_use_ = 0;
  }
  /// The bytes in free blocks.
  std::int64_t held() const { return held_; }

 private:
  /// Removes one block of this size from the counts; false where there is none.
  static bool one_of(std::map<std::size_t, std::int64_t>& counts, std::size_t bytes) {
    const auto found = counts.find(bytes);
    if (found == counts.end()) return false;
    if (--found->second == 0) counts.erase(found);
    return true;
  }

  std::map<std::size_t, std::int64_t> free_, given_back_;  // the number of blocks by size
  std::int64_t held_ = 0, allowed_beside_ = 0, most_in_use_ = 0;
};

}  // namespace precast
