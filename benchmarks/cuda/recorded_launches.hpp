// How many launches a graph has, counted while it is recorded.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/cuda/runtime/context.hpp>

namespace precast::bench {

/// The device's pool, which looks at what a stream has recorded whenever work takes memory or gives it back.
/// The last of an op's temporaries ends after its last launch, so that the last look sees them all.
class RecordedLaunches : public gpu::MemoryResource {
 public:
  void* allocate(std::size_t bytes, gpu::Stream stream) override {
    void* const block = gpu::device_pool().allocate(bytes, stream);
    look(stream);
    return block;
  }
  void deallocate(void* block, std::size_t bytes, gpu::Stream stream) noexcept override {
    gpu::device_pool().deallocate(block, bytes, stream);
    look(stream);
  }
  bool gives_memory_of_graphs() const noexcept override { return true; }

  /// The launches of the one graph that `work` records on the thread's stream.
  template <class Work>
  std::int64_t of(Work&& work) {
    seen_ = 0;
    gpu::Context context = gpu::current_context();
    context.memory = this;
    gpu::with_context(context, work);
    return seen_;
  }

 protected:
  /// How many the stream has recorded, or 0 where it records nothing.
  virtual std::int64_t recorded_by(gpu::Stream stream) noexcept = 0;

 private:
  void look(gpu::Stream stream) noexcept {
    if (const std::int64_t recorded = recorded_by(stream); recorded > 0) seen_ = recorded;
  }

  std::int64_t seen_ = 0;
};

}  // namespace precast::bench
