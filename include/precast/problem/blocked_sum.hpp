// Sums in f32 of many terms, for both backends: in blocks, and blocks of blocks.
#pragma once

#include <cstdint>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

/// The number of terms added one by one before their sum is added to a sum of block sums, and of block sums
/// before theirs is added. The error of n terms is at most that of 2 x 64 + n / 4096 additions (the
/// superblock sums of Castaldo, Whaley and Chronopoulos, 2008). The sum of fewer terms is the plain one.
inline constexpr std::int64_t terms_of_block = 64;

/// The blocked sum of one thread.
class BlockedSum {
 public:
  PRECAST_HOST_DEVICE void add(f32 term) {
    sum_ += term;
    if (++terms_ % terms_of_block) return;
    blocks_ += sum_;
    sum_ = 0;
    if (terms_ % (terms_of_block * terms_of_block)) return;
    blocks_of_blocks_ += blocks_;
    blocks_ = 0;
  }
  PRECAST_HOST_DEVICE f32 total() const { return (sum_ + blocks_) + blocks_of_blocks_; }

 private:
  f32 sum_ = 0, blocks_ = 0, blocks_of_blocks_ = 0;
  std::int64_t terms_ = 0;
};

}  // namespace precast
