// The emulated device's memory: NaN when it is fresh or freed, and out of the host's reach between launches.
#include <cmath>
#include <csetjmp>
#include <csignal>

#include <catch2/catch.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/memory/address_sanitizer.hpp>

using namespace precast;

namespace {

sigjmp_buf before_the_fault;
void on_fault(int) { siglongjmp(before_the_fault, 1); }

/// Whether reading a byte stops the program.
[[maybe_unused]] bool is_out_of_reach(const volatile char* byte) {
  const auto old = std::signal(SIGSEGV, on_fault);
  const bool stopped = sigsetjmp(before_the_fault, 1) != 0;
  if (!stopped) (void)*byte;
  std::signal(SIGSEGV, old);
  return stopped;
}

void add_one(gpu::GlobalPointer<f32> values) { values[gpu::thread_index()] += 1; }

}  // namespace

TEST_CASE("device memory takes values, gives them back, and is reached by kernels alone", "[simt]") {
  const std::size_t bytes = 4 * sizeof(f32);
  gpu::DeviceMemory::Origin origin;
  auto* const block = static_cast<f32*>(gpu::DeviceMemory::allocate(bytes, MemoryPurpose::tensor, origin));
  f32 values[4];
  gpu::DeviceMemory::copy_to_host(values, block, bytes);
  CHECK(std::isnan(values[0]));
  CHECK(std::isnan(values[3]));
  const f32 ours[4] = {1, 2, 3, 4};
  gpu::DeviceMemory::copy_from_host(block, ours, bytes);
  gpu::launch("add_one", add_one, {{1, 1, 1}, 4, 0}, {}, gpu::global_pointer(block, 4));
  gpu::DeviceMemory::copy_to_host(values, block, bytes);
  CHECK(values[0] == 2);
  CHECK(values[3] == 5);
#if !PRECAST_HAS_ADDRESS_SANITIZER
  CHECK(is_out_of_reach(reinterpret_cast<const char*>(block)));
#endif
  gpu::DeviceMemory::deallocate(block, bytes, MemoryPurpose::tensor, origin);
  auto* const again = static_cast<f32*>(gpu::DeviceMemory::allocate(bytes, MemoryPurpose::tensor, origin));
  gpu::DeviceMemory::copy_to_host(values, again, bytes);
  CHECK(std::isnan(values[0]));
  gpu::DeviceMemory::deallocate(again, bytes, MemoryPurpose::tensor, origin);
}
