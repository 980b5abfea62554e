// BufferIn: an owning range of bytes of a Memory; and statistics of memory. The memories are HostMemory
// (memory/memory.hpp) and a device's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace precast {

/// How much memory this process holds, in bytes.
struct MemoryUse {
  std::int64_t in_use = 0;     ///< by tensors
  std::int64_t peak = 0;       ///< the most that tensors held at once
  std::int64_t cached = 0;     ///< free, and ready for the next tensor of its size
  std::int64_t scratch = 0;    ///< by threads, for the tiles they work on: kept until they end
  std::int64_t most_held = 0;  ///< the most that in_use, cached and scratch added up to
};

/// The host's memory (memory/memory.hpp).
struct HostMemory;

/// What an allocation is for.
enum class MemoryPurpose : bool { tensor, scratch };

/// Owns uninitialised bytes of a Memory, aligned to 64. Move only. They are freed to where they were
/// allocated; on a device, in the order of the stream that allocated them.
template <class Memory>
class BufferIn {
 public:
  BufferIn() = default;
  /// Throws OutOfMemory.
  explicit BufferIn(std::size_t bytes, MemoryPurpose purpose = MemoryPurpose::tensor)
      : bytes_(bytes ? Memory::rounded(bytes) : 0),
        data_(bytes_ ? static_cast<std::byte*>(Memory::allocate(bytes_, purpose, origin_)) : nullptr),
        purpose_(purpose) {}
  BufferIn(BufferIn&& other) noexcept
      : origin_(std::move(other.origin_)),
        bytes_(std::exchange(other.bytes_, 0)),
        data_(std::exchange(other.data_, nullptr)),
        purpose_(other.purpose_) {}
  BufferIn& operator=(BufferIn&& other) noexcept {
    BufferIn taken(std::move(other));
    std::swap(origin_, taken.origin_);
    std::swap(bytes_, taken.bytes_);
    std::swap(data_, taken.data_);
    std::swap(purpose_, taken.purpose_);
    return *this;  // what it held goes back with `taken`
  }
  ~BufferIn() {
    if (data_) Memory::deallocate(data_, bytes_, purpose_, origin_);
  }

  /// The address, for work on the current stream, which waits for uploads to the bytes first.
  std::byte* data() const {
    Memory::wait_for_upload(upload());
    return data_;
  }
  /// The address without that wait, for callers that wait later.
  std::byte* address() const { return data_; }
  decltype(auto) upload() const { return Memory::upload_of(origin_); }
  /// The number of the device that holds the bytes; 0 for the host's.
  int device() const { return Memory::device_of(origin_); }
  /// The bytes held, which may be a little more than asked for.
  std::size_t capacity() const { return bytes_; }

  /// Copies host bytes to byte `first` and on; `from` may be reused on return. Work that takes data()
  /// later, on any stream, sees them.
  void upload(std::size_t first, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    Memory::copy_from_host(data() + first, from, bytes);
    note_written();
  }
  /// Copies the first bytes to the host and waits for the copy, which comes after the work queued so far on
  /// the current stream and in the context in which the memory was allocated.
  void download(void* to, std::size_t bytes) const {
    if (bytes == 0) return;
    Memory::wait_for_context(origin_);
    Memory::copy_to_host(to, data(), bytes);
  }
  /// Records that the work queued on the current stream so far writes values for other streams: they wait
  /// for it when they take data().
  void note_written() { Memory::note_written(origin_); }

 private:
  [[no_unique_address]] typename Memory::Origin origin_;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
  MemoryPurpose purpose_ = MemoryPurpose::tensor;
};

}  // namespace precast
