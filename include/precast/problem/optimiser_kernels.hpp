// Declarations of the kernels of an optimiser's step, for either backend; documented at the definitions.
// They take the arrays of all parameters at once, each of them contiguous: a step has few launches, however
// many parameters a model has.
#pragma once

#include <cstdint>
#include <span>

#include <precast/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/adamw_step.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// Statistics of gradients: `non_finite` is counted before they are unscaled, `squares` summed after it.
struct GradientSums {
  double squares = 0;           ///< the sum of their squares
  std::int64_t non_finite = 0;  ///< how many are inf or NaN
};

inline namespace PRECAST_BACKEND {

/// The arrays of one parameter that AdamW reads and writes: its master, its gradient, the moving means, and
/// the copy that ops read, which is empty where they read the master.
template <ScalarDtype T, ScalarDtype Stored>
struct AdamWArrays {
  View<T> master;
  View<const T> gradient;
  View<T> mean, square;
  View<Stored> stored;
  bool decays = false;  ///< whether the weight decay applies to it
};

}  // namespace PRECAST_BACKEND

}  // namespace precast

namespace precast::PRECAST_KERNELS {

template <ScalarDtype T>
GradientSums unscale_gradients(std::span<const View<T>> gradients, f32 inverse PRECAST_ON_STREAM);
template <ScalarDtype T>
void scale_gradients(std::span<const View<T>> gradients, f32 factor PRECAST_ON_STREAM);
template <ScalarDtype T, ScalarDtype Stored>
void adamw(std::span<const AdamWArrays<T, Stored>> parameters, const AdamWStep<T>& step PRECAST_ON_STREAM);
template <ScalarDtype T>
void clear_values(View<T> values PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
