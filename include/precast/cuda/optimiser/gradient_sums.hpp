// The sums over a step's gradients, in one pass: they are unscaled, values that are inf or NaN are counted,
// and squares are summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/optimiser/parameter_chunks.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/problem/optimiser_kernels.hpp>

namespace precast::gpu {

namespace detail {

template <class T>
struct GradientArray {
  GlobalPointer<T> values;
  std::int64_t count;
  bool aligned;
};

template <class Use>
struct SquaresOf;
template <class Use>
struct CountsOf;
/// The sums of the threads of a block in thread 0, zeros in the others: by a tree, in a fixed order.
template <class Use>
PRECAST_DEVICE GradientSums sum_of_block(const GradientSums& mine, Site site = Site::here()) {
  const auto squares = static_shared<double, optimiser_threads, SquaresOf<Use>>();
  const auto counts = static_shared<std::int64_t, optimiser_threads, CountsOf<Use>>();
  const int thread = thread_index();
  squares[thread] = mine.squares;
  counts[thread] = mine.non_finite;
  for (int distance = optimiser_threads / 2; distance > 0; distance /= 2) {
    sync_block(site.part(1));
    if (thread < distance) {
      squares[thread] = squares[thread] + squares[thread + distance];
      counts[thread] = counts[thread] + counts[thread + distance];
    }
  }
  if (thread != 0) return {};  // while thread 0 may still be writing
  return {squares[0], counts[0]};
}

// Bytes moved: each gradient read once, and written once where the loss was scaled, the minimum; 16 written
// for a block.
template <class T>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(optimiser_threads, 1)
    unscale_gradients_kernel(ParameterChunks<GradientArray<T>> all, f32 inverse,
                             GlobalPointer<GradientSums> sums) {
  constexpr int count = values_at_once<T>;
  const Chunk chunk = chunk_of_block(all);
  const GlobalPointer<T> values = all.arrays[chunk.parameter].values;
  const bool aligned = all.arrays[chunk.parameter].aligned;
  GradientSums mine;
  for_each_run<count>(chunk, [&](std::int64_t first, int present) {
    Run<T, count> run = load_run<count>(values + first, present, aligned);
    PRECAST_UNROLL
    for (int i = 0; i < count; ++i) {
      const f32 value = to_f32(run[i]);
      mine.non_finite += planted<"inf not counted">(is_finite(value), value == value) ? 0 : 1;
      if (inverse != 1.0f) run.set(i, round_to<T>(value * inverse));
      const double unscaled = planted<"square of what was scaled">(to_f32(run[i]), value);
      mine.squares += unscaled * unscaled;
    }
    if (planted<"gradient not unscaled">(inverse != 1.0f, false))
      store_run(values + first, run, present, aligned);
  });
  const GradientSums all_threads = sum_of_block<struct OfChunk>(mine);
  if (thread_index() == 0) sums[block_index().x] = all_threads;
}

// Bytes moved: 16 read for a chunk. One block, and one order.
template <int Threads>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(Threads, 1)
    add_gradient_sums_kernel(GlobalPointer<const GradientSums> sums, std::int64_t count,
                             GlobalPointer<GradientSums> out) {
  GradientSums mine;
  for (std::int64_t i = thread_index(); i < count; i += Threads) {
    const GradientSums one = sums[i];
    mine.squares += one.squares;
    mine.non_finite += one.non_finite;
  }
  const GradientSums all = sum_of_block<struct OfChunks>(mine);
  if (thread_index() == 0) *out = all;
}

}  // namespace detail

/// Multiplies gradients by `inverse`. Returns how many were inf or NaN before, and the sum of all squares
/// after, in f64, in an order that shapes alone decide. 16 bytes are copied to the host, which waits for
/// them: it decides how the step goes on, and the scale of the next loss, as PyTorch's GradScaler does.
template <ScalarDtype T>
GradientSums unscale_gradients(std::span<const DeviceView<T>> gradients, f32 inverse, Stream stream) {
  using Arrays = detail::GradientArray<T>;
  constexpr int count = values_at_once<T>;
  const StreamScope scope(stream);  // of the sums
  std::int64_t chunks = 0;
  for (const DeviceView<T>& gradient : gradients) {
    detail::require_contiguous(gradient);
    chunks += ceil_divide(gradient.elements(), detail::values_of_block);
  }
  if (chunks == 0) return {};
  const BufferIn<Memory> buffer(static_cast<std::size_t>(chunks + 1) * sizeof(GradientSums));
  auto* const sums = reinterpret_cast<GradientSums*>(buffer.data());
  std::int64_t done = 1;  // the first place is for all of them
  detail::for_parameters_of_launches<Arrays>(
      gradients.size(),
      [&](std::size_t i) {
        const DeviceView<T>& gradient = gradients[i];
        return Arrays{pointer_to(gradient), gradient.elements(), detail::is_aligned<count>(gradient)};
      },
      [&](const auto& launched) {
        launch("unscale_gradients", detail::unscale_gradients_kernel<T>,
               {{launched.blocks, 1, 1}, detail::optimiser_threads}, stream, launched, inverse,
               global_pointer(sums + done, launched.blocks));
        done += launched.blocks;
      });
  launch("add_gradient_sums", detail::add_gradient_sums_kernel<detail::optimiser_threads>,
         {{1, 1, 1}, detail::optimiser_threads}, stream, global_pointer<const GradientSums>(sums + 1, chunks),
         chunks, global_pointer(sums, 1));
  GradientSums all;
  Memory::copy_to_host(&all, sums, sizeof(all));
  return all;
}

}  // namespace precast::gpu
