// Timestep embeddings.
#pragma once

#include <cstdint>
#include <string>

#include <precast/backend.hpp>
#include <precast/backend/timestep_embedding.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/position_kernels.hpp>

namespace precast {

namespace detail {

/// Throws ShapeError unless rows of `dim` values hold a frequency.
inline void require_waves(std::int64_t dim, const TimestepWaves& waves) {
  if (dim < 2)
    throw ShapeError("timestep_embedding: " + std::to_string(dim) +
                     " values have no room for a cosine and a sine");
  if (waves.frequency_shift < 0 || waves.frequency_shift >= dim / 2)
    throw ShapeError("timestep_embedding: " + std::to_string(dim) +
                     " values have no frequencies that are shifted by " +
                     std::to_string(waves.frequency_shift));
}

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Sinusoidal embedding of timesteps (Vaswani et al. 2017) as diffusers' Timesteps makes it, in its f32
/// steps: n times -> [n, dim], cosines and sines of t 10000^(-i / (half - frequency_shift)), cosines first
/// unless `waves` says otherwise; an odd dim ends with a zero. `out` must not overlap times. Throws
/// ShapeError where dim holds no frequency.
template <PolicyType P>
void timestep_embedding_into(PendingView<View<const f32>> times, const TimestepWaves& waves,
                             ResultOf<P, Position> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto from = times.view();
  const auto result = out.view();
  detail::require_waves(result.columns(), waves);
  detail::require_same_shape("timestep_embedding", Shape{from.elements(), result.columns()}, result.shape());
  detail::require_apart("timestep_embedding", result, from);
  detail::run_op_into<Position, precisions<P, Position>>(
      "timestep_embedding", result,
      [&](auto types, auto to) { backend::timestep_embedding<decltype(types)>(from, waves, to); });
}

/// The same into a new tensor of `dim` columns.
template <PolicyType P>
auto timestep_embedding(PendingView<View<const f32>> times, std::int64_t dim, const TimestepWaves& waves = {},
                        const Context& context = current_context()) {
  detail::require_waves(dim, waves);
  return detail::into_new<P, Position>(Shape{times.shape().elements(), dim}, context,
                                       [&](auto out) { timestep_embedding_into<P>(times, waves, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
