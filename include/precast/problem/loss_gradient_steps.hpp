// The steps of the gradient of a loss, for both backends: each value between two of them is kept in the row's
// `inside`, which is f32 without Downcast<Loss>.
#pragma once

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/reduction_steps.hpp>

namespace precast {

/// The gradient of a row's cross entropy, once its largest logit is known.
template <ScalarDtype Inside>
struct CrossEntropyGradientSteps : CrossEntropySteps<Inside> {
  using CrossEntropySteps<Inside>::kept;

  /// The gradient of the logit with this term, in a row whose terms add up to `sum`.
  static PRECAST_HOST_DEVICE f32 gradient(f32 term, f32 sum, bool is_target, f32 factor) {
    const f32 probability = kept(term / sum);
    return kept(probability - (is_target ? 1.0f : 0.0f)) * factor;
  }
};

}  // namespace precast
