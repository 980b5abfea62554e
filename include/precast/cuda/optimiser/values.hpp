// Gradients multiplied by a factor, and cleared.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/optimiser/gradient_sums.hpp>
#include <precast/cuda/optimiser/parameter_chunks.hpp>
#include <precast/problem/optimiser_kernels.hpp>

namespace precast::gpu {

namespace detail {

/// A gradient times a factor; nothing.
template <class T>
struct Times {
  f32 factor;
  PRECAST_DEVICE T operator()(T value) const {
    return round_to<T>(to_f32(value) * planted<"factor of gradients">(factor, 1.0f));
  }
};
template <class T>
struct Nothing {
  PRECAST_DEVICE T operator()() const { return planted<"gradient not cleared">(T{}, round_to<T>(1.0f)); }
};

// Bytes moved: each value read once, unless all become the same, and written once.
template <class T, class F>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(optimiser_threads, 1)
    change_values_kernel(ParameterChunks<GradientArray<T>> all, F function) {
  constexpr int count = values_at_once<T>;
  const Chunk chunk = chunk_of_block(all);
  const GlobalPointer<T> values = all.arrays[chunk.parameter].values;
  const bool aligned = all.arrays[chunk.parameter].aligned;
  for_each_run<count>(chunk, [&](std::int64_t first, int present) {
    Run<T, count> run{};
    if constexpr (!std::is_invocable_v<F>) run = load_run<count>(values + first, present, aligned);
    PRECAST_UNROLL
    for (int i = 0; i < count; ++i)
      if constexpr (std::is_invocable_v<F>)
        run.set(i, function());
      else
        run.set(i, function(run[i]));
    store_run(values + first, run, present, aligned);
  });
}

template <class T, class F>
void change_values(const char* name, std::span<const DeviceView<T>> arrays, const F& function,
                   Stream stream) {
  using Array = GradientArray<T>;
  for_parameters_of_launches<Array>(
      arrays.size(),
      [&](std::size_t i) {
        require_contiguous(arrays[i]);
        return Array{pointer_to(arrays[i]), arrays[i].elements(), is_aligned<values_at_once<T>>(arrays[i])};
      },
      [&](const auto& launched) {
        launch(name, change_values_kernel<T, F>, {{launched.blocks, 1, 1}, optimiser_threads}, stream,
               launched, function);
      });
}

}  // namespace detail

/// Multiplies gradients by a factor, rounded to their dtype.
template <ScalarDtype T>
void scale_gradients(std::span<const DeviceView<T>> gradients, f32 factor, Stream stream) {
  detail::change_values("scale_gradients", gradients, detail::Times<T>{factor}, stream);
}

/// Sets all values to zero.
template <ScalarDtype T>
void clear_values(DeviceView<T> values, Stream stream) {
  detail::change_values("clear_values", std::span<const DeviceView<T>>(&values, 1), detail::Nothing<T>{},
                        stream);
}

}  // namespace precast::gpu
