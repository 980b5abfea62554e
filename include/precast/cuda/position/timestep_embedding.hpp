// Sinusoidal embedding of timesteps.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/position_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

// One block per time. Few values, in float64 where the reference is sensitive to every rounding of an
// angle. Bytes moved: a time read once, by all threads together, and each value written once, the minimum.
template <bool Saturates, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(128, 1)
    timestep_embedding_kernel(DeviceRows<const f32> times, std::int64_t times_of_row, DeviceRows<To> out,
                              std::int64_t columns, TimestepWaves waves) {
  const int row = block_index().x;
  const std::int64_t half = columns / 2, frequencies = half - waves.frequency_shift;
  const std::int64_t cosines = waves.cosines_first ? 0 : half, sines = half - cosines;
  const GlobalPointer<To> to = out.row(row);
  const DividedIndex place = divide_index(row, times_of_row);
  const f32 time = times.row(place.quotient)[place.rest];
  for (std::int64_t i = thread_index(); i < half; i += threads_in_block()) {
    // Each step is rounded to f32, as on the host.
    const f32 exponent =
        static_cast<f32>(-9.210340371976182736) * static_cast<f32>(i) / static_cast<f32>(frequencies);
    const f32 angle = time * static_cast<f32>(exponential(static_cast<double>(exponent)));
    to[cosines + i] = round_to<To, Saturates>(static_cast<f32>(cosine(static_cast<double>(angle))));
    to[sines + i] = round_to<To, Saturates>(static_cast<f32>(sine(static_cast<double>(angle))));
  }
  if (columns % 2 != 0 && thread_index() == 0) to[columns - 1] = round_to<To, Saturates>(0.0f);
}

}  // namespace detail

/// Cosines and sines of each time by falling frequencies. The times are in device memory, so that a graph
/// can be replayed with others.
template <class Types>
void timestep_embedding(DeviceView<const f32> times, const TimestepWaves& waves,
                        DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(computes_in_f32<Types>, "Position embeddings are computed in f32.");
  if (out.elements() == 0) return;
  launch("timestep_embedding", detail::timestep_embedding_kernel<Types::saturate, typename Types::result>,
         {{grid_blocks(times.elements()), 1, 1}, 128}, stream, DeviceRows<const f32>(times), times.columns(),
         DeviceRows<typename Types::result>(out), out.columns(), waves);
}

}  // namespace precast::gpu
