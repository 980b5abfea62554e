// Every experiment, one source each.
#pragma once

#include <experiments/experiment.hpp>

namespace precast::experiments {

/// Which gradients a 16-bit format flushes to zero, with and without a loss scale.
Experiment underflow();
/// Weights that updates smaller than half their spacing do not move.
Experiment stagnation();
/// Softmax as it is defined, and with the largest logit subtracted first.
Experiment softmax_in_16_bits();
/// log(1 + e^x) as it is written, and without a large exponential.
Experiment softplus();
/// A thousand times 0.01, in four combinations of formats.
Experiment accumulation();
/// Where results, sums and attention scores leave each format's range.
Experiment overflow();
/// A backward pass in f16 whose gradients vanish, and the scales that bring them back.
Experiment loss_scaling();

}  // namespace precast::experiments
