// RotaryScaling: how Llama models scale rotary frequencies for contexts longer than the original
// training's.
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
  linear,   ///< all frequencies divided by the factor: Chen et al. 2023, position interpolation
  dynamic,  ///< as `none` within the original context; longer contexts are refused here
  llama3,   ///< low frequencies only, relative to the original context: Llama 3.1
  yarn      ///< the same by another rule, with scaled attention: Peng et al. 2023, YaRN
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
  // llama3: a wavelength above original_positions / low_frequency_factor is scaled by the factor, one below
  // original_positions / high_frequency_factor is kept, with a smooth transition in between.
  double low_frequency_factor = 1, high_frequency_factor = 4;
  // yarn: pairs with more than beta_fast rotations in the original context are kept, those with fewer than
  // beta_slow are scaled; between these bounds, which are rounded to whole pairs if `truncate` is set, the
  // change is linear in the pair's index.
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;
  double attention_factor = 1;             ///< yarn: factor of cosines and sines
  std::int64_t original_positions = 8192;  ///< the context of the original training

  bool operator==(const RotaryScaling&) const = default;
};

/// The frequencies theta^(-2i / width) of a head's pairs, in radians per position, after scaling.
inline std::vector<double> scaled(std::vector<double> frequencies, double theta,
                                  const RotaryScaling& scaling) {
  const auto width = 2 * static_cast<double>(frequencies.size());
  const auto first_context = static_cast<double>(scaling.original_positions);
  // The pair with so many rotations in the original context.
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
    if (first_divided == last_kept) first_divided += 0.001;  // as in transformers
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    double kept = 0;  // the fraction of the frequency that is kept
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
