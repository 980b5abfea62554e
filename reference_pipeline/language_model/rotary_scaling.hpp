// RotaryScaling: how a Llama's rotary frequencies change for contexts longer than those of its first
// training.
#pragma once

#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

namespace precast::language_model {

enum class RotaryScalingKind : std::uint8_t {
  none,    ///< transformers' rope_type "default"
  linear,  ///< every frequency is divided by the factor: Chen et al. 2023, position interpolation
  llama3   ///< those alone whose waves are long beside the first context: Llama 3.1
};

constexpr std::string_view to_string(RotaryScalingKind kind) {
  switch (kind) {
    case RotaryScalingKind::none:
      return "default";
    case RotaryScalingKind::linear:
      return "linear";
    case RotaryScalingKind::llama3:
      return "llama3";
  }
  return {};
}

struct RotaryScaling {
  RotaryScalingKind kind = RotaryScalingKind::none;
  double factor = 1;
  // Of llama3. A wave longer than original_positions / low_frequency_factor is divided by the factor, one
  // shorter than original_positions / high_frequency_factor stays, and between them the change is gradual.
  double low_frequency_factor = 1, high_frequency_factor = 4;
  std::int64_t original_positions = 8192;  ///< the longest context of the first training

  bool operator==(const RotaryScaling&) const = default;
};

/// The frequencies, in radians a position, after scaling.
inline std::vector<double> scaled(std::vector<double> frequencies, const RotaryScaling& scaling) {
  for (double& frequency : frequencies) {
    double kept = 0;  // the part of the frequency that is not divided
    if (scaling.kind == RotaryScalingKind::none) kept = 1;
    if (scaling.kind == RotaryScalingKind::llama3) {
      const double waves =
          static_cast<double>(scaling.original_positions) * frequency / (2 * std::numbers::pi);
      kept = (waves - scaling.low_frequency_factor) /
             (scaling.high_frequency_factor - scaling.low_frequency_factor);
      kept = kept < 0 ? 0 : kept > 1 ? 1 : kept;
    }
    frequency *= kept + (1 - kept) / scaling.factor;
  }
  return frequencies;
}

}  // namespace precast::language_model
