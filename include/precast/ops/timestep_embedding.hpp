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
    throw ShapeError("timestep_embedding: " + std::to_string(dim) + " values hold no cosine and sine");
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
void timestep_embedding_into(const View<const f32>& times, const TimestepWaves& waves,
                             View<typename precisions<P, Position>::result> out) {
  detail::require_waves(out.columns(), waves);
  detail::require_same_shape("timestep_embedding", Shape{times.elements(), out.columns()}, out.shape());
  detail::require_apart("timestep_embedding", out, times);
  detail::run_op_into<Position, precisions<P, Position>>("timestep_embedding", out, [&](auto types, auto to) {
    backend::timestep_embedding<decltype(types)>(times, waves, to);
  });
}

/// The same into a new tensor of `dim` columns.
template <PolicyType P>
auto timestep_embedding(const View<const f32>& times, std::int64_t dim, const TimestepWaves& waves = {}) {
  detail::require_waves(dim, waves);
  Tensor<typename precisions<P, Position>::result> out(Shape{times.elements(), dim});
  timestep_embedding_into<P>(times, waves, out.view());
  return out;
}

/// Both in a context, which stands before their other arguments.
template <PolicyType P, ArrayOf<f32> T, class Out>
void timestep_embedding_into(const Context& context, const T& times, const TimestepWaves& waves, Out&& out) {
  with_context(context, [&] { timestep_embedding_into<P>(times, waves, out); });
}
template <PolicyType P, ArrayOf<f32> T>
auto timestep_embedding(const Context& context, const T& times, std::int64_t dim,
                        const TimestepWaves& waves = {}) {
  return with_context(context, [&] { return timestep_embedding<P>(times, dim, waves); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
