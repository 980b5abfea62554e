// The targets of rows of logits for kernels of the cross entropy, and the number of rows that count.
#pragma once

#include <cstdint>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::gpu::detail {

/// The number of a loss's rows that count, known to the host.
struct KnownRowCount {
  f32 known;

  static KnownRowCount of(std::span<const std::int32_t> targets) {
    return {precast::rows_that_count(targets)};
  }
  PRECAST_DEVICE f32 number() const { return known; }
};

/// The same number in device memory.
struct RowCountOnDevice {
  GlobalPointer<const f32> place;
  PRECAST_DEVICE f32 number() const { return *place; }
};

/// Targets on the device that a kernel has checked.
struct TargetsOnDevice {
  GlobalPointer<const std::int32_t> targets;
  PRECAST_DEVICE std::int32_t of_row(std::int64_t row) const { return targets[row]; }
};

/// The logit of a target, NaN where that is no class.
template <class From>
PRECAST_DEVICE f32 logit_of(GlobalPointer<const From> row, std::int32_t target) {
  if (target == not_a_class) return quiet_nan;
  return to_f32(row[target == no_target ? 0 : target]);
}

inline constexpr int target_threads = 512;

// Bytes moved: each number read once, and 4 written for it.
template <class Number>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(target_threads, 1)
    check_targets_kernel(GlobalPointer<const Number> numbers, std::int64_t rows, std::int64_t ignored,
                         std::int64_t classes, GlobalPointer<std::int32_t> targets,
                         GlobalPointer<f32> rows_that_count) {
  f32 kept = 0;
  for (std::int64_t i = thread_index(); i < rows; i += target_threads) {
    const std::int32_t target = UncheckedTargets<Number, DeviceSpace>::checked(numbers[i], ignored, classes);
    targets[i] = target;
    if (planted<"ignored rows counted">(target != no_target, true)) kept += 1;
  }
  kept = block_sum<target_threads, struct RowsKept>(kept);
  if (thread_index() == 0) *rows_that_count = kept;
}

/// Unchecked targets, checked on the device; their memory is that of the stream's scope.
class CheckedTargets {
 public:
  template <IndexInteger Number>
  CheckedTargets(const UncheckedTargets<Number, DeviceSpace>& given, std::int64_t classes, Stream stream)
      : count_(given.numbers.count),
        targets_(static_cast<std::size_t>(count_) * sizeof(std::int32_t)),
        rows_that_count_(Shape{}) {
    launch("check_targets", check_targets_kernel<Number>, {{1, 1, 1}, target_threads}, stream,
           global_pointer(given.numbers.data, count_), count_, given.ignored, classes, targets(),
           pointer_to(rows_that_count_.view()));
  }
  TargetsOnDevice of_rows() { return {targets()}; }
  RowCountOnDevice rows_that_count() const { return {pointer_to(rows_that_count_.view())}; }

 private:
  GlobalPointer<std::int32_t> targets() {
    return global_pointer(reinterpret_cast<std::int32_t*>(targets_.data()), count_);
  }

  std::int64_t count_;
  BufferIn<Memory> targets_;
  Tensor<f32, Memory> rows_that_count_;
};

}  // namespace precast::gpu::detail
