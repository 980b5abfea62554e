// The network of the source's demonstration of loss scaling: two layers with a relu between, and its
// gradients.
#pragma once

#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::experiments {

/// The dtype in which gradients are divided by the loss scale.
enum class Unscaled { in_f16, in_f32 };

struct Gradients {
  double loss = 0;                 ///< unscaled
  std::vector<double> magnitudes;  ///< of all parameters, unscaled
};

/// Linear(128, 128), relu, Linear(128, 1) on 256 rows of inputs and targets of about 1e-3, with the mean
/// squared error: parameters and data are those that torch.manual_seed(0) gives.
class SmallNetwork {
 public:
  SmallNetwork();

  /// The gradients of a forward and a backward pass in which every result is f16, with the loss times
  /// `scale`.
  Gradients backward_in_f16(double scale, Unscaled unscaled) const;
  /// The same with every result in f32.
  Gradients backward_in_f32() const;

 private:
  template <ScalarDtype T>
  Gradients backward(double scale, Unscaled unscaled) const;

  Tensor<f32> weight_1_, bias_1_, weight_2_, bias_2_, inputs_, targets_;
};

}  // namespace precast::experiments
