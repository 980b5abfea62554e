// Models that are right in f32 and overflow f16, made by reference_pipeline/shapes/overflow_variant.py of
// those in tests/golden.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.hpp"

namespace program {

inline const std::string stable_diffusion_models =
    std::string(PRECAST_SOURCE_DIR) + "/tests/golden/stable_diffusion/";

/// The folder of a variant of `model`; `failure` is "scores", "values", "convolution" or "decoder". `query`
/// is the number that raises scores, where it is not the script's own.
inline std::string overflow_variant(const Scratch& scratch, const std::string& model,
                                    const std::string& failure, const std::string& query = "") {
  const std::string target = (scratch.path() / failure).string();
  std::string line = quoted(PRECAST_PYTHON3) + " " +
                     quoted(PRECAST_SOURCE_DIR "/reference_pipeline/shapes/overflow_variant.py") + " " +
                     quoted(target) + " --model " + quoted(model) + " --failure " + failure;
  if (failure == "scores") line += " --silence";
  if (!query.empty()) line += " --query " + query;
  if (std::system((line + " 2>/dev/null").c_str()) != 0) throw std::runtime_error(line);
  return target;
}

}  // namespace program
