// The device that is measured: its memory, its cache and its clock. device.cpp is CUDA's; the emulator's,
// whose clock is made up, is in tests/cuda_benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace precast::bench {

/// A device, open from the start of the program to its end; ops of this thread run on a stream of its own.
class Device {
 public:
  virtual ~Device() = default;

  /// Name and value of what a table of results should say about it.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  /// Bytes that could be taken. What is kept for reuse is given back before.
  virtual std::int64_t free_memory() = 0;
  /// Overwrites the L2 cache, as the next work on the stream.
  virtual void evict_cache() = 0;
  /// Records a point of the stream's work under a number, in place of an earlier one.
  virtual void mark(std::size_t number) = 0;
  /// The seconds from one point to another. Waits until the device has come to both.
  virtual double seconds(std::size_t from, std::size_t to) = 0;
  /// How many kernels, those of libraries among them, the one graph launches that `work` records.
  virtual std::int64_t launches_recorded(const std::function<void()>& work) = 0;
};

/// Opens the device. Throws Error, one line that says why, where there is none.
std::unique_ptr<Device> open_device();

}  // namespace precast::bench
