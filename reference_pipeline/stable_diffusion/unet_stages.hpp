// The stages of a UNet in execution order: the modules, and the skips that they leave and
// take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <stable_diffusion/unet.hpp>

namespace precast::stable_diffusion {

/// A stage: a module of the way down, of the middle or of the way up.
struct UNetStage {
  enum class Kind : std::uint8_t {
    residual,     ///< a residual block
    transformer,  ///< self-attention and cross-attention to the prompt
    halve,        ///< a convolution that halves the resolution
    enlarge,      ///< upsampling to the size of the latest skip, and a convolution
  };
  Kind kind;
  std::string place;             ///< its name in the weights: "down_blocks.0.resnets.1"
  std::size_t level = 0;         ///< of UNetConfig::levels
  std::int64_t in_channels = 0;  ///< of its input, including the skip that it takes
  std::int64_t out_channels = 0;
  std::int64_t depth = 0;    ///< of a transformer: its blocks
  bool takes_skip = false;   ///< concatenates the latest skip to its input
  bool leaves_skip = false;  ///< its result is a skip for the way up
};

/// All stages from the first convolution, whose result is the first skip, to the last norm, both excluded.
std::vector<UNetStage> stages_of(const UNetConfig& config);

/// The channels of the skips present before stage `index` runs, the latest last.
std::vector<std::int64_t> skips_before(const UNetConfig& config, const std::vector<UNetStage>& stages,
                                       std::size_t index);

}  // namespace precast::stable_diffusion
