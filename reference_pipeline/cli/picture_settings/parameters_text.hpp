// The text `parameters` in a picture: prompt and settings in the format that image generators read and
// write.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <families/request.hpp>

namespace precast::cli {

/// The facts recorded with one picture.
struct PictureFacts {
  std::string prompt;
  std::string model;      ///< "shapes"
  std::string precision;  ///< "fast", "f16+upcast-attention"
  std::int64_t position = 0, pictures = 1;
  bool from_image = false;
  bool from_latents = false;
  std::string sampler = {};            ///< "Euler"; "" is left out
  bool guidance_is_distilled = false;  ///< as in families::Family
  int quality = 0;                     ///< of JPEG and WebP; 0 is left out
  std::string policies = {};  ///< "quality | fast" in compare's contact sheet, instead of `precision`
  /// Files that replaced parts of the model: {"VAE", "ae.safetensors"}, {"Plan", "plan.json"}.
  std::vector<std::pair<std::string, std::string>> given = {};
};

/// "PROMPT\nSteps: 20, Sampler: Euler, CFG scale: 1, Distilled CFG Scale: 3.5, Seed: 1, Size: 64x64, Model:
/// shapes, …": the prompt, then one line of pairs; a value that holds a comma, a colon or a line break is
/// quoted as JSON, as those programs do.
std::string parameters_text(const families::ResolvedRequest& used, const PictureFacts& facts);

/// The same text with the quality of JPEG or WebP, if it was written for a format without one.
std::string with_quality(std::string parameters, int quality);

}  // namespace precast::cli
