// A stable sort of rows by number: CUB's on a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/cuda/device/side.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/memory/buffer.hpp>

#if PRECAST_ON_DEVICE
#include <cub/device/device_radix_sort.cuh>

#include <precast/cuda/runtime/check.hpp>
#include <precast/cuda/runtime/with_scratch.hpp>
#else
#include <algorithm>

#include <simt/stream.hpp>
#endif

namespace precast::gpu {

/// A row and, in the upper 32 bits, its number: in ascending order, rows of one number are adjacent, in
/// their own order.
struct NumberedRow {
  PRECAST_HOST_DEVICE static std::uint64_t of(std::int32_t number, std::int64_t row) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(number)) << 32 |
           static_cast<std::uint32_t>(row);
  }
  PRECAST_HOST_DEVICE static std::int32_t number(std::uint64_t key) {
    return static_cast<std::int32_t>(key >> 32);
  }
  PRECAST_HOST_DEVICE static std::int64_t row(std::uint64_t key) {
    return static_cast<std::int64_t>(key & 0xffffffffu);
  }
};

/// Sorts `count` keys in device memory, whose rows ascend and whose numbers have `bits` bits, into
/// `sorted`, by CUB's radix sort, which keeps the order of equal numbers. CUB does not compile under a host
/// compiler: the emulator's device uses the standard library's sort.
inline void sort_by_number(const std::uint64_t* keys, std::uint64_t* sorted, std::int64_t count,
                           [[maybe_unused]] int bits, Stream stream) {
#if PRECAST_ON_DEVICE
  const StreamScope scope(stream);  // of the scratch
  with_scratch([&](void* scratch, std::size_t& bytes) {
    if (scratch && MemoryCounter::active()) return;
    check(cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, sorted, count, 32, 32 + bits, stream),
          "sort rows by their numbers");
  });
#else
  if (MemoryCounter::active()) return;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(std::uint64_t);
  const simt::StreamWork work("sort_by_number", stream);
  work.reads(keys, bytes);
  work.writes(sorted, bytes);
  std::partial_sort_copy(keys, keys + count, sorted, sorted + count);
#endif
}

}  // namespace precast::gpu
