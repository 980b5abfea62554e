// ContentHash: a number that tells contents of files apart: what results were made from, and what was
// damaged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

namespace precast::io {

/// Fowler, Noll and Vo's hash, a word at a time, of bytes in the order in which they are added.
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t some = std::min(bytes.size(), sizeof word);
      std::memcpy(&word, bytes.data(), some);
      value_ = (value_ ^ word) * 1099511628211u;
      value_ ^= value_ >> 32;
      bytes = bytes.subspan(some);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

/// Its value as files have it: 16 hexadecimal digits.
inline std::string hash_text(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace precast::io
