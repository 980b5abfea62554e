// Replay: work that is the same each time, given to the device as one graph.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <precast/cuda/runtime/pinned_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/tensor/dry_run.hpp>

#if !PRECAST_CUDA_IS_EMULATED
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::cuda {

/// Runs a body again and again. The first time it runs as it is, so that what is made once (plans of
/// products, workspaces) is made; the second time it is recorded; from then on the device replays it, which
/// spares the host the launches. The body must use the same memory each time, give back what it takes,
/// bring no values from the host and not wait for the device. The emulator runs the body every time.
/// The host is two runs ahead of the device at most, so that whoever counts runs, or wants to stop, is near
/// the truth, and the device never waits.
class Replay {
 public:
  template <class Body>
  void operator()(Body&& body) {
    if (DryRun::active()) return body();
    Event& run_before_last = done_[runs_++ % done_.size()];
    run_before_last.wait();
    run(body);
    run_before_last.record(current_stream());
  }

 private:
  template <class Body>
  void run(Body&& body) {
#if PRECAST_CUDA_IS_EMULATED
    body();
#else
    if (!ran_once_) {
      body();
      ran_once_ = true;
      return;
    }
    if (!graph_) record(body);
    check(cudaGraphLaunch(graph_.get(), current_stream()), "replay a graph");
#endif
  }

#if !PRECAST_CUDA_IS_EMULATED
  template <class Body>
  void record(Body&& body) {
    const Stream stream = current_stream();
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "record a graph");
    cudaGraph_t recorded = nullptr;
    try {
      body();
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &recorded);  // the body's own error is the one to tell
      if (recorded) (void)cudaGraphDestroy(recorded);
      throw;
    }
    check(cudaStreamEndCapture(stream, &recorded), "record a graph");
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, decltype(&cudaGraphDestroy)> graph(
        recorded, &cudaGraphDestroy);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0), "prepare a graph");
    graph_.reset(executable);
  }

  bool ran_once_ = false;
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, decltype(&cudaGraphExecDestroy)> graph_{
      nullptr, &cudaGraphExecDestroy};
#endif
  std::array<Event, 2> done_;
  std::size_t runs_ = 0;
};

}  // namespace precast::cuda
