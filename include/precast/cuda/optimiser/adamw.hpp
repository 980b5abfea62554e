// AdamW on the device: many parameters per launch, each value read and written once.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/optimiser/parameter_chunks.hpp>
#include <precast/problem/optimiser_kernels.hpp>

namespace precast::gpu {

namespace detail {

template <class T, class Stored>
struct AdamWPointers {
  GlobalPointer<T> master;
  GlobalPointer<const T> gradient;
  GlobalPointer<T> mean, square;
  GlobalPointer<Stored> stored;
  std::int64_t count;
  bool aligned, decays;
};

// Bytes moved: master and means read and written once, the gradient read once, and what ops read written
// once: the minimum.
template <class T, class Stored>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(optimiser_threads, 1)
    adamw_kernel(ParameterChunks<AdamWPointers<T, Stored>> all, AdamWStep<T> step) {
  constexpr int count = values_at_once<T, Stored>;
  const Chunk chunk = chunk_of_block(all);
  const auto& of = all.arrays[chunk.parameter];
  const bool aligned = of.aligned, decays = planted<"decay of every parameter">(of.decays, true);
  for_each_run<count>(chunk, [&](std::int64_t first, int present) {
    Run<f32, count> master = load_f32<count>(of.master + first, present, aligned),
                    mean = load_f32<count>(of.mean + first, present, aligned),
                    square = load_f32<count>(of.square + first, present, aligned);
    const Run<f32, count> gradient = load_f32<count>(of.gradient + first, present, aligned);
    PRECAST_UNROLL
    for (int i = 0; i < count; ++i) {
      const AdamWValues next =
          step(AdamWValues<>{master[i], mean[i], square[i]}, gradient[i], decays && step.decays);
      master[i] = rounded<T>(next.parameter);
      mean[i] = next.mean;
      square[i] = next.square;
    }
    store_rounded<false>(of.master + first, master, present, aligned);
    store_rounded<false>(of.mean + first, mean, present, aligned);
    store_rounded<false>(of.square + first, square, present, aligned);
    if constexpr (!std::is_same_v<T, Stored>)
      if (planted<"what ops read stays">(true, false))
        store_rounded<false>(of.stored + first, master, present, aligned);
  });
}

}  // namespace detail

/// AdamW's step on all parameters; masters are rounded to the copies that ops read.
template <ScalarDtype T, ScalarDtype Stored>
void adamw(std::span<const AdamWArrays<T, Stored>> parameters, const AdamWStep<T>& step, Stream stream) {
  using Pointers = detail::AdamWPointers<T, Stored>;
  constexpr int count = values_at_once<T, Stored>;
  detail::for_parameters_of_launches<Pointers>(
      parameters.size(),
      [&](std::size_t i) {
        const AdamWArrays<T, Stored>& one = parameters[i];
        detail::require_contiguous(one.master);
        return Pointers{pointer_to(one.master),
                        pointer_to(one.gradient),
                        pointer_to(one.mean),
                        pointer_to(one.square),
                        pointer_to(one.stored),
                        one.master.elements(),
                        detail::is_aligned<count>(one.master) && detail::is_aligned<count>(one.gradient) &&
                            detail::is_aligned<count>(one.mean) && detail::is_aligned<count>(one.square) &&
                            detail::is_aligned<count>(one.stored),
                        one.decays};
      },
      [&](const auto& launched) {
        launch("adamw", detail::adamw_kernel<T, Stored>, {{launched.blocks, 1, 1}, detail::optimiser_threads},
               stream, launched, step);
      });
}

}  // namespace precast::gpu
