// A block's shared memory: what the launch asked for, then the kernel's own arrays.
#pragma once

#include <cstddef>
#include <memory>
#include <typeinfo>
#include <vector>

namespace simt::runtime {

class SharedMemory {
 public:
  static constexpr std::size_t static_limit = 48 << 10;  ///< bytes that a kernel's own arrays may have
  static constexpr std::size_t limit = 227 << 10;        ///< with dynamic memory, on the largest device

  /// Fills all of it with bytes 0xff, a NaN in every floating dtype. `anew`: other memory than the last
  /// block's.
  void start_block(std::size_t dynamic_bytes, bool anew);
  void end_launch() { retired_.clear(); }

  /// Null where the limit is passed.
  void* static_array(const std::type_info& use, std::size_t bytes);
  unsigned char* dynamic() const { return memory_.get(); }
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }
  /// How many bytes from dynamic() on there are, in use or not.
  std::size_t capacity() const { return capacity_; }
  /// How many of them are the block's.
  std::size_t bytes() const { return static_bytes_ ? static_start_ + static_bytes_ : dynamic_bytes_; }
  std::size_t static_bytes() const { return static_bytes_; }
  /// The address that instructions have for a place: memory starts on a multiple of 128 and, as nothing
  /// promises more, of no more than that.
  static constexpr std::size_t first_address = 1024 + 128;
  std::size_t offset(const void* address) const {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(address) - memory_.get());
  }

 private:
  struct Free {
    void operator()(unsigned char* memory) const;
  };
  using Memory = std::unique_ptr<unsigned char[], Free>;
  struct Array {
    const std::type_info* use;
    void* address;
  };
  Memory memory_;
  std::size_t capacity_ = 0, dynamic_bytes_ = 0, static_start_ = 0, static_bytes_ = 0;
  std::vector<Array> arrays_;
  std::vector<Memory> retired_;
};

}  // namespace simt::runtime
