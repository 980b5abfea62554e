// Moments: mean and squared deviations of values, such that the moments of parts can be merged without
// cancellation, however many values there are and however far from zero.
#pragma once

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// The mean is mean + rest: rounded to f32 alone it would shift every deviation from a large mean.
struct Moments {
  f32 mean = 0;
  f32 rest = 0;
  f32 squares = 0;  ///< sum of the squared deviations from the mean
  f32 count = 0;
};

/// The moments of the first `present` values of each run, or of all where they are Whole: deviations from
/// their own mean, which are in registers still.
template <bool Whole, int Runs, int Count>
PRECAST_DEVICE Moments moments_of(const Run<f32, Count> (&x)[Runs], const int (&present)[Runs]) {
  f32 sum = 0;
  int count = 0;
  PRECAST_UNROLL
  for (int run = 0; run < Runs; ++run) {
    count += Whole ? Count : present[run];
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) sum += Whole || i < present[run] ? x[run][i] : 0.0f;
  }
  if (!Whole && count == 0) return {};
  const auto n = static_cast<f32>(count);
  const f32 mean = sum / n;
  f32 deviations = 0, squares = 0;
  PRECAST_UNROLL
  for (int run = 0; run < Runs; ++run) {
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) {
      const f32 deviation = Whole || i < present[run] ? x[run][i] - mean : 0.0f;
      deviations += deviation;
      squares = multiply_then_add(deviation, deviation, squares);
    }
  }
  const f32 rest = deviations / n;
  // Fused: rounded in between, the product of squares beyond f32 would give NaN.
  return {mean, rest, multiply_then_add(-deviations, rest, squares), n};
}

/// The moments of two parts as one (Chan, Golub and LeVeque 1983). `more` should not have many times the
/// values of `some`: it is the step from one mean to the common one that is rounded.
PRECAST_DEVICE Moments merged(const Moments& some, const Moments& more) {
  if (more.count == 0) return some;
  if (some.count == 0) return more;
  const f32 count = some.count + more.count, share = more.count / count;
  const f32 apart = (more.mean - some.mean) + (more.rest - some.rest);
  const f32 step = multiply_then_add(apart, share, some.rest);
  // some.mean + step in two parts that hold it exactly (Knuth's sum).
  const f32 mean = some.mean + step, of_step = mean - some.mean;
  const f32 rest = (some.mean - (mean - of_step)) + (step - of_step);
  return {mean, planted<"merged mean rounded to f32">(rest, 0.0f),
          some.squares + more.squares +
              planted<"means apart forgotten">(apart, 0.0f) * apart * (some.count * share),
          count};
}

/// The moments of the lane `distance` above.
PRECAST_DEVICE Moments shuffle_down(const Moments& m, int distance) {
  return {shuffle_down(m.mean, distance), shuffle_down(m.rest, distance), shuffle_down(m.squares, distance),
          shuffle_down(m.count, distance)};
}

/// Returns the moments of `lanes` neighbouring lanes in the first of them. All 32 of the warp must call.
PRECAST_DEVICE Moments merged_lanes(Moments moments, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    moments = merged(moments, shuffle_down(moments, distance));
  return moments;
}

}  // namespace precast::gpu
