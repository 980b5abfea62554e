#include <cstring>
#include <new>

#include <simt/runtime/shared_memory.hpp>

namespace simt::runtime {

namespace {
constexpr std::size_t line = 128;  // all banks once: what dynamic_shared aligns to
std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}
}  // namespace

void SharedMemory::Free::operator()(unsigned char* memory) const {
  ::operator delete[](memory, std::align_val_t{line});
}

void SharedMemory::start_block(std::size_t dynamic_bytes, bool anew) {
  const std::size_t start = round_up(dynamic_bytes, line), bytes = start + static_limit;
  if (anew || capacity_ < bytes) {
    if (memory_) retired_.push_back(std::move(memory_));
    memory_.reset(static_cast<unsigned char*>(::operator new[](bytes, std::align_val_t{line})));
    capacity_ = bytes;
  }
  std::memset(memory_.get(), 0xff, bytes);
  dynamic_bytes_ = dynamic_bytes;
  static_start_ = start;
  static_bytes_ = 0;
  arrays_.clear();
}

void* SharedMemory::static_array(const std::type_info& use, std::size_t bytes) {
  for (const Array& array : arrays_)
    if (*array.use == use) return array.address;
  const std::size_t offset = round_up(static_bytes_, 16);
  if (offset + bytes > static_limit) return nullptr;
  static_bytes_ = offset + bytes;
  arrays_.push_back({&use, memory_.get() + static_start_ + offset});
  return arrays_.back().address;
}

}  // namespace simt::runtime
