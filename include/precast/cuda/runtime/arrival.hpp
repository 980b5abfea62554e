// RecordedArrival: lets other streams wait for the values that one stream uploads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/event.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/error.hpp>

namespace precast::gpu {

/// A point in the work of a stream that other streams wait for, each of them once. Any thread may call.
class RecordedArrival final : public Arrival {
 public:
  explicit RecordedArrival(Stream stream) : by_{stream, records_graph(stream) ? 0 : number_of(stream)} {
    event_.record(stream);
  }

  /// Orders later work of `stream` after the arrival. Only the first call of each stream costs anything,
  /// and none once many streams have called and the event is over. Throws Error where the first call comes
  /// while the stream records a graph, which cannot wait for work outside of it.
  void order_before(Stream stream) override {
    if (is_over_) return;
    const std::lock_guard lock(mutex_);
    if (records_graph(stream)) {
      // CUDA gives no stream id during capture: compare handles, as a stream in use has not been destroyed.
      if (stream != by_.stream && std::none_of(waited_.begin(), waited_.end(),
                                               [&](const Waited& one) { return one.stream == stream; }))
        throw Error(
            "values that another stream uploaded are first waited for inside a CUDA graph: wait for them "
            "before capturing it");
      return;
    }
    const auto who = number_of(stream);
    if (who == by_.number) return;
    if (std::any_of(waited_.begin(), waited_.end(), [&](const Waited& one) { return one.number == who; }))
      return;
    if (waited_.size() >= many && event_.is_complete()) {
      is_over_ = true;
      waited_.clear();
      return;
    }
    event_.order_before(stream);
    waited_.push_back({stream, who});
  }

 private:
  /// Streams that are remembered: a program that makes a stream for each request would add each of them.
  static constexpr std::size_t many = 32;

  struct Waited {
    Stream stream;
    std::uint64_t number;
  };

  /// The unique id of a stream. A handle may be reused by a later stream, and the default streams of two
  /// devices share one.
  static std::uint64_t number_of(Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
    return static_cast<std::uint64_t>(stream.number);
#else
    unsigned long long number = 0;
    check(cudaStreamGetId(stream, &number), "get a stream's id");
    return number;
#endif
  }

  const Waited by_;  ///< the uploading stream; number 0 if it was recording a graph
  Event event_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::vector<Waited> waited_;
};

}  // namespace precast::gpu
