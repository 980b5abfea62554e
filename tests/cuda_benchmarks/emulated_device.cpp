// The emulated device as the benchmarks see it. It has no clock: whatever lies between two points of a stream
// takes a millisecond, so that tests know every number that comes out.
#include <cstdlib>
#include <limits>

#include <cuda/device.hpp>
#include <cuda/host_library.hpp>

#include <precast/cuda/matmul/product_library.hpp>
#include <precast/cuda/runtime/own_stream.hpp>

namespace precast::bench {

namespace {

class EmulatedDevice final : public Device {
 public:
  std::vector<std::pair<std::string, std::string>> facts() const override { return {{"device", "emulator"}}; }
  /// As much as a test says that there is.
  std::int64_t free_memory() override {
    const char* const bytes = std::getenv("PRECAST_EMULATED_FREE_MEMORY");
    return bytes ? std::atoll(bytes) : std::numeric_limits<std::int64_t>::max();
  }
  void evict_cache() override {}
  void mark(std::size_t) override {}
  double seconds(std::size_t from, std::size_t to) override { return 1e-3 * static_cast<double>(to - from); }

 private:
  testing::HostLibrary host_;  // in cuBLASLt's place
  gpu::LibraryScope<gpu::ProductLibrary> library_{host_.library()};
  gpu::OwnStream stream_;
};

}  // namespace

std::unique_ptr<Device> open_device() { return std::make_unique<EmulatedDevice>(); }

}  // namespace precast::bench
