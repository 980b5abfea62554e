// Replay: work that is the same each time, given to the device as one graph.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <precast/cuda/runtime/context.hpp>
#include <precast/cuda/runtime/event.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/error.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::gpu {

namespace detail {

/// Allocates from the device's pool while this thread records, and counts the blocks that are not freed.
class GraphMemory final : public MemoryResource {
 public:
  /// Not destroyed: blocks that a body keeps may be freed to it later.
  static GraphMemory& instance() {
    static auto* const memory = new GraphMemory;
    return *memory;
  }
  void* allocate(std::size_t bytes, Stream stream) override {
    void* const block = device_pool().allocate(bytes, stream);
    ++blocks();
    return block;
  }
  void deallocate(void* block, std::size_t bytes, Stream stream) noexcept override {
    --blocks();
    device_pool().deallocate(block, bytes, stream);
  }
  static int& blocks() {
    thread_local int held = 0;
    return held;
  }
};

/// Records what `body` does: all memory that it takes is the graph's.
template <class Body>
void record_body(Body&& body) {
  struct Scope {
    Scope() {
      GraphMemory::blocks() = 0;
      memory_of_recording() = &GraphMemory::instance();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { memory_of_recording() = nullptr; }
  } const scope;
  body();
  if (GraphMemory::blocks() > 0)
    throw Error(
        "the body of a Replay keeps memory that it allocated, which belongs to its graph: let it write to "
        "memory allocated before");
}

}  // namespace detail

/// Runs a body repeatedly. The first run executes the body directly, which makes what is made once (plans
/// of products, workspaces); the second run records it as a graph; from then on the device replays the
/// graph, which spares the host the launches. The body must use the same memory each time, free what it
/// takes, upload no values from the host and not wait for the device. On another stream or device all
/// begins anew, as a recording uses the workspaces of its stream. This keeps the stream of an OwnStream
/// alive, and the workspaces that were recorded. The emulator runs the body every time.
/// A graph has memory of its own. While the body is recorded, it allocates from the device's pool, whose
/// allocations CUDA makes the graph's: the MemoryResource of a Context would give the same memory to others
/// before the graph runs again, and is used only where it says that its memory is the graph's. Memory that
/// the first run left in the device's pool returns to the system when the graph is made, and memory of
/// graphs when this is destroyed; a dry run counts it until then. Throws Error where the body keeps memory
/// taken while it was recorded: results go to memory from before. The host is at most two runs ahead of the
/// device, so that a count of runs, or a stop, is near the truth, and the device never waits.
class Replay {
 public:
  Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() {
    uncount();
    forget();
  }

  template <class Body>
  void operator()(Body&& body) {
    if (DryRun* const dry = DryRun::active()) return count(*dry, body);
    if (ran_once_ && (context_.stream != current_stream() || device_ != detail::current_device())) forget();
    std::optional<Event>& run_before_last = done_[runs_++ % done_.size()];
    if (run_before_last)
      run_before_last->wait();
    else
      run_before_last.emplace();  // on the current device
    run(body);
    run_before_last->record(current_stream());
  }

 private:
  /// Runs the body in a dry run, and counts what it takes as the graph's from the second run on: workspaces
  /// that the first run makes are counted already.
  template <class Body>
  void count(DryRun& dry, Body&& body) {
    if (runs_++ == 0) return body();
    uncount();
    counted_ = static_cast<std::size_t>(dry.most_taken_by(body));
    dry.allocate(counted_, DryRun::Counts::device_memory);
  }
  void uncount() noexcept { DryRun::deallocate(std::exchange(counted_, 0), DryRun::Counts::device_memory); }

  template <class Body>
  void run(Body&& body) {
    if (!ran_once_) {
      body();
      context_ = current_context();
      device_ = detail::current_device();
      ran_once_ = true;
      return;
    }
#if PRECAST_CUDA_IS_EMULATED
    const Recording recording(current_stream());
    detail::record_body(body);
#else
    if (!graph_) record(body);
    check(cudaGraphLaunch(graph_.get(), current_stream()), "replay a graph");
#endif
  }

  /// Gives the graph back when the device is done with it.
  void forget() noexcept {
    ran_once_ = false;
    for (std::optional<Event>& done : done_) done.reset();
#if !PRECAST_CUDA_IS_EMULATED
    if (!graph_) return;
    const detail::DeviceScope device(device_);  // the default stream is the current device's
    (void)cudaStreamSynchronize(context_.stream);
    graph_.reset();
    used_.clear();
    (void)cudaDeviceGraphMemTrim(device_);
#endif
  }

#if PRECAST_CUDA_IS_EMULATED
  struct Recording {
    explicit Recording(Stream on) : stream(on) { simt::begin_recording(stream); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { simt::end_recording(stream); }
    Stream stream;
  };
#else
  template <class Body>
  void record(Body&& body) {
    const Stream stream = current_stream();
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "record a graph");
    cudaGraph_t recorded = nullptr;
    try {
      detail::record_body(body);
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &recorded);  // the body's own error is the one to report
      if (recorded) (void)cudaGraphDestroy(recorded);
      throw;
    }
    check(cudaStreamEndCapture(stream, &recorded), "record a graph");
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, decltype(&cudaGraphDestroy)> graph(
        recorded, &cudaGraphDestroy);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0), "prepare a graph");
    graph_.reset(executable);
    used_ = detail::StreamResources::instance().all_of(stream);
    // The first run's memory is of no use any more, and is only free once that run is over.
    wait_for(stream);
    cudaMemPool_t pool{};
    check(cudaDeviceGetDefaultMemPool(&pool, device_), "get its memory pool");
    check(cudaMemPoolTrimTo(pool, 0), "give memory back");
  }

  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, decltype(&cudaGraphExecDestroy)> graph_{
      nullptr, &cudaGraphExecDestroy};
  std::vector<std::shared_ptr<void>> used_;  ///< workspaces whose addresses the graph has
#endif
  bool ran_once_ = false;
  Context context_;  ///< of the first run
  int device_ = 0;   ///< of the same
  std::array<std::optional<Event>, 2> done_;
  std::size_t runs_ = 0;
  std::size_t counted_ = 0;  ///< bytes of the graph in a dry run
};

}  // namespace precast::gpu
