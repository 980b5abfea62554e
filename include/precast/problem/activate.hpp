// ActivationFunction: the activation functions that ops can fuse into their stores, and their names.
#pragma once

#include <cstdint>
#include <string_view>

namespace precast {

/// An activation function, computed in f32 (Hendrycks and Gimpel 2016 for gelu and silu).
enum class ActivationFunction : std::uint8_t {
  none,        ///< x
  gelu_tanh,   ///< x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): T5, Flux
  gelu_erf,    ///< x/2 (1 + erf(x / sqrt(2)))
  quick_gelu,  ///< x sigmoid(1.702 x): CLIP
  silu,        ///< x sigmoid(x)
  relu,        ///< max(x, 0), NaN kept
};

constexpr std::string_view to_string(ActivationFunction activation) {
  switch (activation) {
    case ActivationFunction::none:
      return "none";
    case ActivationFunction::gelu_tanh:
      return "gelu_tanh";
    case ActivationFunction::gelu_erf:
      return "gelu_erf";
    case ActivationFunction::quick_gelu:
      return "quick_gelu";
    case ActivationFunction::silu:
      return "silu";
    case ActivationFunction::relu:
      return "relu";
  }
  return {};
}

}  // namespace precast
