// The CPU as a backend.
#include <families/compiled_backend.hpp>
#include <process/memory.hpp>

#include <precast/memory/memory.hpp>

namespace precast::families {

namespace {

class HostBackend final : public CompiledBackend {
 public:
  std::unique_ptr<DeviceSession> start() const override { return std::make_unique<DeviceSession>(); }
  std::optional<std::int64_t> free_memory() const override { return process::free_memory(); }
  std::int64_t held_memory() const override { return process::resident_memory(); }
  /// Measured: pages of oneDNN's and Precast's code that only a run loads, and gaps between small blocks.
  std::int64_t code_memory() const override { return std::int64_t{2} << 20; }
  MemoryUse memory_use() const override { return precast::memory_use(); }
  void reset_peak_memory() const override { precast::reset_peak_memory(); }
};

}  // namespace

const Backend& cpu_backend() {
  static const HostBackend backend;
  return backend;
}

}  // namespace precast::families
