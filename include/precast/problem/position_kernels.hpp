// Declarations of the kernels of position embeddings, for either backend; documented at the definitions.
#pragma once

#include <cstdint>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/rotation.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// How a timestep's waves are laid out, in diffusers' words: flip_sin_to_cos and downscale_freq_shift.
struct TimestepWaves {
  bool cosines_first = true;
  std::int64_t frequency_shift = 0;  ///< frequencies are 10000^(-i / (half - frequency_shift))
};

}  // namespace precast

namespace precast::PRECAST_KERNELS {

template <class Types, class From>
void rotary(View<const From> x, View<const f32> cos, View<const f32> sin,
            View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void rotate(View<const From> x, View<const f32> cos, View<const f32> sin, const Rotation& rotation,
            View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types>
void timestep_embedding(View<const f32> times, const TimestepWaves& waves,
                        View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
