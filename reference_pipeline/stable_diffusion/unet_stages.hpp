// The stages of a UNet in the order in which a prediction runs them: its list of modules, and what each hands
// on to which.
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
    transformer,  ///< attention to the picture and to the prompt
    halve,        ///< a convolution that halves the picture
    enlarge,      ///< an enlargement to the size of the latest skip, and a convolution
  };
  Kind kind;
  std::string place;             ///< its name in the weights: "down_blocks.0.resnets.1"
  std::size_t level = 0;         ///< of UNetConfig::levels
  std::int64_t in_channels = 0;  ///< of what it reads, with the skip that it takes
  std::int64_t out_channels = 0;
  std::int64_t depth = 0;    ///< of a transformer: its blocks
  bool takes_skip = false;   ///< the latest skip joins what came before
  bool leaves_skip = false;  ///< its result is one for the way up
};

/// All stages between the first convolution, whose result is the first skip, and the last norm.
std::vector<UNetStage> stages_of(const UNetConfig& config);

/// The channels of the skips that are left before stage `index` runs, the latest last.
std::vector<std::int64_t> skips_before(const UNetConfig& config, const std::vector<UNetStage>& stages,
                                       std::size_t index);

}  // namespace precast::stable_diffusion
