// Components on the CPU.
#include <flux/compiled_components.hpp>
#include <flux/free_memory.hpp>

#include <precast/tensor/memory.hpp>

namespace precast::flux {

namespace {

class HostComponents final : public CompiledComponents {
 public:
  std::unique_ptr<DeviceSession> start() const override { return std::make_unique<DeviceSession>(); }
  std::optional<std::int64_t> free_memory() const override { return flux::free_memory(); }
  std::int64_t peak_memory() const override { return memory_use().peak; }
  void reset_peak_memory() const override { precast::reset_peak_memory(); }
};

}  // namespace

const Components& host_components() {
  static const HostComponents components;
  return components;
}

}  // namespace precast::flux
