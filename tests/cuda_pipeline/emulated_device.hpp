// The emulated device as models see it, whichever models a test compiles for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <families/backend.hpp>

#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/own_stream.hpp>

namespace precast::testing {

/// Products by our own kernels: no library stands in for cuBLASLt.
class EmulatedSession : public families::DeviceSession {
 public:
  void wait() const override { gpu::wait_for(stream_.context().stream); }

 private:
  gpu::OwnStream stream_;
};

/// All but the models.
class EmulatedBackend : public families::Backend {
 public:
  std::unique_ptr<families::DeviceSession> start() const override {
    return std::make_unique<EmulatedSession>();
  }
  std::optional<std::int64_t> free_memory() const override { return std::nullopt; }
  DryRun::Counts counted_memory() const override { return DryRun::Counts::device_memory; }
  MemoryUse memory_use() const override { return gpu::memory_use(); }
  void reset_peak_memory() const override { gpu::reset_peak_memory(); }
};

}  // namespace precast::testing
