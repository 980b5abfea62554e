// Describes a file of weights: its kind, its model and which parts of it the file has, the naming
// convention, and the formats.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cli/terminal/output.hpp>

#include <precast/io/component_source.hpp>

namespace precast::cli {

/// The tensors of one format.
struct FormatShare {
  std::int64_t tensors = 0, parameters = 0, bytes = 0;  ///< bytes include scales
};

/// A part of a model in a file.
struct PartFacts {
  std::string part;                            ///< "transformer"
  std::string names;                           ///< "original", "diffusers", "GGUF"
  std::string prefix;                          ///< "model.diffusion_model."
  std::map<std::string, FormatShare> formats;  ///< "q4_k", "fp8_e4m3 with a scale"
};

struct FileFacts {
  std::string kind;   ///< "safetensors", "GGUF version 3, architecture flux"
  std::string model;  ///< "Flux.1 dev or like it", "a FLUX.2 model"; "" if unknown
  std::vector<PartFacts> parts;
  std::string problem;  ///< why it cannot be loaded; "" if it can
  /// The metadata by key: the strings of safetensors, or the values of GGUF.
  Json metadata = Json::object();
};

FileFacts facts_of(const io::ComponentSource& file);

/// As text for people, and as JSON for programs.
std::string in_text(const FileFacts& facts);
Json in_json(const FileFacts& facts);

}  // namespace precast::cli
