// Measuring work on the device against what the device can do, in turn.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <benchmark/benchmark.h>
#include <common/measure.hpp>
#include <cuda/suite.hpp>

#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::bench {

/// The device's memory when a part of a model is about to be made, and how much more it took at most, as a
/// share of the bytes of its weights as stored.
class PeakMemory {
 public:
  PeakMemory() {
    gpu::reset_peak_memory();
    before_ = gpu::memory_use().in_use;
  }
  template <PolicyType P>
  double over_weights(double parameters) const {
    return static_cast<double>(gpu::memory_use().peak - before_) /
           (parameters * sizeof(typename precisions<P, Matmul>::storage));
  }

 private:
  std::int64_t before_ = 0;
};

/// Throws unless all values are finite and one is not zero: the time of a wrong result is worth nothing.
template <ScalarDtype T, class Memory>
void require_result(const Tensor<T, Memory>& tensor) {
  const HostTensor<T> values = to_host(tensor);
  bool any = false;
  for (const T value : values.values()) {
    const double number = to_double(value);
    if (!std::isfinite(number)) throw Error("a value of the result is not finite");
    any = any || number != 0;
  }
  if (!any) throw Error("the result is all zeros");
}

/// The device's seconds for work that is started on the stream, when nothing that it reads is in the
/// L2 cache. While the cache is overwritten the host starts all of the work, so that it does not
/// wait for the host.
template <class Start>
double seconds_cold(Device& device, Start&& start) {
  device.evict_cache();
  device.mark(0);
  start();
  device.mark(1);
  return device.seconds(0, 1);
}

/// Runs both until the device is warm, then measures them in turn.
template <class Start, class StartReference>
InTurn measure_cold(benchmark::State& state, const Suite& suite, Start&& start, StartReference&& reference) {
  const auto time_work = [&] { return seconds_cold(suite.device, start); };
  const auto time_reference = [&] { return seconds_cold(suite.device, reference); };
  double warm = 0;
  for (int run = 0; run < suite.sizes.least_warm_runs || warm < suite.sizes.warm_seconds; ++run)
    warm += time_work() + time_reference();
  return time_in_turn(state, time_work, time_reference);
}

/// cudaMemcpyAsync from memory of the device to memory of the device.
class DeviceCopy {
 public:
  explicit DeviceCopy(double moved_bytes)
      : bytes_(static_cast<std::size_t>(moved_bytes / 2)), from_(bytes_), to_(bytes_) {}
  void operator()() const { gpu::DeviceMemory::copy(to_.data(), from_.data(), bytes_); }

 private:
  std::size_t bytes_;
  BufferIn<gpu::DeviceMemory> from_, to_;
};

/// Measures `make_result()`, which must move at least as many bytes, in turn with a copy that moves as many,
/// half read and half written. Counters:
///   of_copy           the share of the copy's rate
///   copy_rate         the copy's bytes a second
///   bytes_per_second  the op's, of the bytes that it must move
template <class MakeResult>
void compare_with_copy(benchmark::State& state, const Suite& suite, double moved_bytes,
                       MakeResult&& make_result) {
  const DeviceCopy copy(moved_bytes);
  const InTurn times = measure_cold(
      state, suite, [&] { (void)make_result(); }, copy);
  require_result(make_result());
  state.counters["of_copy"] = times.reference_over_work;
  state.counters["copy_rate"] = moved_bytes / times.reference_seconds;
  state.counters["bytes_per_second"] = moved_bytes / times.seconds;
}

}  // namespace precast::bench
