// The steps of reductions and losses, for both backends: each value between two of them is kept in the row's
// `inside`, which is f32 without Downcast<Reduction> or Downcast<Loss>.
#pragma once

#include <cmath>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/math.hpp>

namespace precast {

/// The mean of `count` terms that add up to `sum`; NaN of no terms.
template <ScalarDtype Inside>
PRECAST_HOST_DEVICE f32 mean_of_sum(f32 sum, f32 count) {
  return rounded_to<Inside>(sum) / count;
}

/// A term of a mean squared error.
template <ScalarDtype Inside>
PRECAST_HOST_DEVICE f32 squared_difference(f32 x, f32 y) {
  const f32 difference = rounded_to<Inside>(x - y);
  return rounded_to<Inside>(math::rounded_product(difference, difference));
}

/// The cross entropy of a row, -log softmax, once its largest logit is known.
template <ScalarDtype Inside>
struct CrossEntropySteps {
  static PRECAST_HOST_DEVICE f32 kept(f32 x) { return rounded_to<Inside>(x); }
  /// The term that a logit adds to the row's sum.
  static PRECAST_HOST_DEVICE f32 term(f32 logit, f32 largest) {
    return kept(math::exp_of_negative(kept(logit - largest)));
  }
  /// The loss of the row whose terms add up to `sum`, and whose class has this logit.
  static PRECAST_HOST_DEVICE f32 loss(f32 sum, f32 logit, f32 largest) {
    return kept(kept(std::log(sum)) - kept(logit - largest));
  }
};

}  // namespace precast
