// Launches over the values of many parameters: as many as fit a launch's arguments, each cut into chunks of
// one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/error.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

inline constexpr int optimiser_threads = 256;
/// Values of a chunk: 16 runs of 16 bytes of f32 for each thread, enough for memory to be busy, and small
/// enough that a model of a million values has a block for each multiprocessor.
inline constexpr std::int64_t values_of_block = std::int64_t{optimiser_threads} * 64;

/// The arguments of a launch: the arrays of parameters (Arrays has `count`, its values), and the first
/// block of each. Parameters of kernels are 4 KB at most.
template <class Arrays>
struct ParameterChunks {
  static constexpr int most = static_cast<int>(3800 / (sizeof(Arrays) + sizeof(int)));
  Arrays arrays[most];
  int first_block[most];
  int parameters = 0;
  int blocks = 0;
};

/// The chunk of a block: the index of its parameter, and its values there.
struct Chunk {
  int parameter;
  std::int64_t first, end;
};
template <class Arrays>
PRECAST_DEVICE Chunk chunk_of_block(const ParameterChunks<Arrays>& all) {
  const int block = block_index().x;
  int low = 0, high = all.parameters;  // the last parameter that begins at or before the block
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (planted<"first block of another parameter">(all.first_block[middle] <= block,
                                                    all.first_block[middle] < block))
      low = middle;
    else
      high = middle;
  }
  const std::int64_t first = (block - all.first_block[low]) * values_of_block;
  return {low, first, min_of(first + values_of_block, all.arrays[low].count)};
}

/// Calls `body(first value, how many)` for each of a thread's runs of Count values in a chunk.
template <int Count, class Body>
PRECAST_DEVICE void for_each_run(const Chunk& chunk, Body&& body) {
  PRECAST_KEEP_LOOP
  for (std::int64_t first = chunk.first + std::int64_t{thread_index()} * Count; first < chunk.end;
       first += std::int64_t{optimiser_threads} * Count) {
    const std::int64_t left = planted<"values past a chunk">(chunk.end, chunk.end - 1) - first;
    body(first, static_cast<int>(min_of<std::int64_t>(left, Count)));
  }
}

/// Calls `start(chunks)` for as many parameters at a time as fit a launch. `arrays_of(i)` are the arrays of
/// parameter i of `count`; parameters without values are left out.
template <class Arrays, class ArraysOf, class Start>
void for_parameters_of_launches(std::size_t count, ArraysOf&& arrays_of, Start&& start) {
  using Chunks = ParameterChunks<Arrays>;
  Chunks chunks{};
  const auto flush = [&] {
    if (chunks.parameters > 0) start(chunks);
    chunks = Chunks{};
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Arrays arrays = arrays_of(i);
    if (arrays.count == 0) continue;
    if (chunks.parameters == Chunks::most) flush();
    chunks.arrays[chunks.parameters] = arrays;
    chunks.first_block[chunks.parameters++] = chunks.blocks;
    chunks.blocks += static_cast<int>(ceil_divide(arrays.count, values_of_block));
  }
  flush();
}

/// The values of a view without gaps, which `values_of` is for on the host.
template <class T>
void require_contiguous(const DeviceView<T>& view) {
  if (!view.contiguous())
    throw ShapeError("an optimiser is given an array " + to_string(view.shape()) +
                     " with gaps between its rows");
}

/// Whether an array's runs begin on multiples of Count values, as then do all parts of a chunk.
template <int Count, class T>
bool is_aligned(const DeviceView<T>& view) {
  return reinterpret_cast<std::uintptr_t>(view.data()) % (Count * sizeof(T)) == 0;
}

}  // namespace precast::gpu::detail
