// The emulated device as the benchmarks see it. It has no clock: whatever lies between two points of a stream
// takes a millisecond, so that tests know every number that comes out.
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>

#include <cuda/device.hpp>
#include <cuda/host_library.hpp>
#include <cuda/recorded_launches.hpp>
#include <simt/session.hpp>
#include <simt/stream.hpp>

#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/runtime/own_stream.hpp>

namespace precast::bench {

namespace {

/// Launches since a stream began to record.
class EmulatedLaunches final : public RecordedLaunches {
 public:
  explicit EmulatedLaunches(const testing::HostLibrary& host) : host_(host) {}
  /// The launches that `work` records.
  std::int64_t in_session(const std::function<void()>& work) {
    const simt::Session session;
    session_ = &session;
    before_.reset();
    const std::int64_t launches = of(work);
    session_ = nullptr;
    return launches;
  }

 private:
  std::int64_t recorded_by(gpu::Stream stream) noexcept override {
    if (!session_ || !simt::is_recording(stream)) return 0;
    const auto now = static_cast<std::int64_t>(session_->launches().size() + host_.multiplied.size());
    if (!before_) before_ = now;
    return now - *before_;
  }

  const testing::HostLibrary& host_;
  const simt::Session* session_ = nullptr;
  std::optional<std::int64_t> before_;
};

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
  std::int64_t launches_recorded(const std::function<void()>& work) override {
    return recorded_.in_session(work);
  }

 private:
  testing::HostLibrary host_;  // in cuBLASLt's place
  EmulatedLaunches recorded_{host_};
  gpu::LibraryScope<gpu::ProductLibrary> library_{host_.library()};
  gpu::OwnStream stream_;
};

}  // namespace

std::unique_ptr<Device> open_device() { return std::make_unique<EmulatedDevice>(); }

}  // namespace precast::bench
