// RecordedArrival: when values that the host sent are there, for streams other than the one that brings them.
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

/// A point in the work of a stream that other streams wait for, each of them once. Any thread may ask.
class RecordedArrival final : public Arrival {
 public:
  explicit RecordedArrival(Stream stream) : by_{stream, records_graph(stream) ? 0 : number_of(stream)} {
    event_.record(stream);
  }

  /// What the stream is given from now on comes after the arrival. It costs the first time of each stream,
  /// and nothing once it is known to be over, which streams in number ask. Throws Error where that is while
  /// the stream records a graph, to which nothing outside of it is ordered.
  void order_before(Stream stream) override {
    if (is_over_) return;
    const std::lock_guard lock(mutex_);
    if (records_graph(stream)) {
      // CUDA does not say a stream's number then, and has ended no stream that is in use.
      if (stream != by_.stream && std::none_of(waited_.begin(), waited_.end(),
                                               [&](const Waited& one) { return one.stream == stream; }))
        throw Error(
            "values that another stream brought are first asked for as part of a CUDA graph: ask before");
      return;
    }
    const auto who = number_of(stream);
    if (who == by_.number) return;
    if (std::any_of(waited_.begin(), waited_.end(), [&](const Waited& one) { return one.number == who; }))
      return;
    if (waited_.size() >= many && event_.is_over()) {
      is_over_ = true;
      waited_.clear();
      return;
    }
    event_.order_before(stream);
    waited_.push_back({stream, who});
  }

 private:
  /// Streams that one remembers: a program that makes a stream for each request would be told of each.
  static constexpr std::size_t many = 32;

  struct Waited {
    Stream stream;
    std::uint64_t number;
  };

  /// A handle may come again for a later stream, and default streams of two devices share one; a number is
  /// one stream's alone.
  static std::uint64_t number_of(Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
    return static_cast<std::uint64_t>(stream.number);
#else
    unsigned long long number = 0;
    check(cudaStreamGetId(stream, &number), "ask who a stream is");
    return number;
#endif
  }

  const Waited by_;  ///< who brings the values; 0 while a graph of its is recorded
  Event event_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::vector<Waited> waited_;
};

}  // namespace precast::gpu
