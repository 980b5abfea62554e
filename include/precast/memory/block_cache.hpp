// BlockCache: which of the blocks that were freed a pool of memory keeps, by their sizes. The pool has the
// addresses; a dry run has none, and asks the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include <precast/memory/address_sanitizer.hpp>
#include <precast/memory/held.hpp>

namespace precast {

/// Keeps large blocks for the next of their size, as long as the pool holds, when a large one is asked
/// for, no more than its tensors ever did at once, and a mebibyte. A size that is asked for again after its
/// block went back was worth keeping: from then on there is room for one more. So what changes its sizes
/// as it goes on, as a decoder does, holds what it uses, and a loop gets nothing new after its second round.
class BlockCache {
 public:
  static constexpr std::size_t smallest = std::size_t{1} << 20;
  /// Whether pools keep any block. AddressSanitizer would not see one used after it was freed.
  static bool is_used() { return !detail::address_sanitizer_runs(); }
  /// Free blocks may hold so much, or while anybody keeps a peak (memory/kept_memory.hpp) as much as was in
  /// use at most.
  static constexpr std::int64_t most = std::int64_t{1} << 30;
  static SharedCount& keepers_of_peak() {
    static SharedCount count;
    return count;
  }
  static bool keeps_peak() { return keepers_of_peak().value() > 0; }

  /// A block of that size is asked for while `in_use` bytes are: true where a free one is taken. Else the
  /// sizes that go back to the system first are given to `give_back`, block by block. A small one changes
  /// nothing: tasks take theirs at times of their own, and what is held must not depend on them.
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
    // Held is what was in use at most, to the byte, in a loop's second round: the few that a task takes for
    // itself, which no dry run counts one by one, must not drive a block out.
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
  /// A block is free: whether it is kept.
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
  /// All free blocks go back, and what was learnt is forgotten.
  void clear() {
    free_.clear();
    given_back_.clear();
    held_ = allowed_beside_ = most_in_use_ = 0;
  }
  /// The bytes that are free.
  std::int64_t held() const { return held_; }

 private:
  /// Takes one away where there is one.
  static bool one_of(std::map<std::size_t, std::int64_t>& counts, std::size_t bytes) {
    const auto found = counts.find(bytes);
    if (found == counts.end()) return false;
    if (--found->second == 0) counts.erase(found);
    return true;
  }

  std::map<std::size_t, std::int64_t> free_, given_back_;  // how many of each size
  std::int64_t held_ = 0, allowed_beside_ = 0, most_in_use_ = 0;
};

}  // namespace precast
