// RotaryScaling: how a Llama's rotary frequencies change for contexts longer than those of its first
// training.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

namespace precast::language_model {

enum class RotaryScalingKind : std::uint8_t {
  none,     ///< transformers' rope_type "default"
  linear,   ///< every frequency is divided by the factor: Chen et al. 2023, position interpolation
  dynamic,  ///< as `none` in contexts that the model was trained for, and others are refused here
  llama3,   ///< those alone whose waves are long beside the first context: Llama 3.1
  yarn      ///< the same by another rule, and longer queries and keys: Peng et al. 2023, YaRN
};

constexpr std::string_view to_string(RotaryScalingKind kind) {
  switch (kind) {
    case RotaryScalingKind::none:
      return "default";
    case RotaryScalingKind::linear:
      return "linear";
    case RotaryScalingKind::dynamic:
      return "dynamic";
    case RotaryScalingKind::llama3:
      return "llama3";
    case RotaryScalingKind::yarn:
      return "yarn";
  }
  return {};
}

struct RotaryScaling {
  RotaryScalingKind kind = RotaryScalingKind::none;
  double factor = 1;
  // Of llama3. A wave longer than original_positions / low_frequency_factor is divided by the factor, one
  // shorter than original_positions / high_frequency_factor stays, and between them the change is gradual.
  double low_frequency_factor = 1, high_frequency_factor = 4;
  // Of yarn. Pairs that turn more often than beta_fast in the first context stay, those that turn less often
  // than beta_slow are divided; between these two, which are whole pairs where `truncate` says so, the change
  // is linear in the pair's number.
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;
  double attention_factor = 1;             ///< of yarn: what cosines and sines are multiplied by
  std::int64_t original_positions = 8192;  ///< the longest context of the first training

  bool operator==(const RotaryScaling&) const = default;
};

/// The frequencies theta^(-2i / width) of the pairs of a head, in radians a position, after scaling.
inline std::vector<double> scaled(std::vector<double> frequencies, double theta,
                                  const RotaryScaling& scaling) {
  const auto width = 2 * static_cast<double>(frequencies.size());
  const auto first_context = static_cast<double>(scaling.original_positions);
  // The pair that turns so often in the first context.
  const auto pair_of = [&](double turns) {
    return width * std::log(first_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  double first_divided = 0, last_kept = 0;
  if (scaling.kind == RotaryScalingKind::yarn) {
    last_kept = pair_of(scaling.beta_fast);
    first_divided = pair_of(scaling.beta_slow);
    if (scaling.truncate) {
      last_kept = std::floor(last_kept);
      first_divided = std::ceil(first_divided);
    }
    last_kept = std::max(last_kept, 0.0);
    first_divided = std::min(first_divided, width - 1);
    if (first_divided == last_kept) first_divided += 0.001;  // as transformers does
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    double kept = 0;  // the part of the frequency that is not divided
    switch (scaling.kind) {
      case RotaryScalingKind::none:
      case RotaryScalingKind::dynamic:
        kept = 1;
        break;
      case RotaryScalingKind::linear:
        break;
      case RotaryScalingKind::llama3:
        kept = (first_context * frequencies[i] / (2 * std::numbers::pi) - scaling.low_frequency_factor) /
               (scaling.high_frequency_factor - scaling.low_frequency_factor);
        break;
      case RotaryScalingKind::yarn:
        kept = 1 - (static_cast<double>(i) - last_kept) / (first_divided - last_kept);
        break;
    }
    kept = std::clamp(kept, 0.0, 1.0);
    frequencies[i] *= kept + (1 - kept) / scaling.factor;
  }
  return frequencies;
}

}  // namespace precast::language_model
