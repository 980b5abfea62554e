// Recorded samples: what a denoiser's blocks started from at some steps of some pictures, in one
// safetensors file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <families/blocks.hpp>

namespace precast::casting {

/// A sample file.
struct Samples {
  std::map<std::string, std::string> facts;  ///< how they were made: "model", "prompts", "seed", "steps" …
  std::vector<families::RecordedState> recorded;  ///< in the order in which they were recorded

  /// A 64-bit hash of all values and facts.
  std::uint64_t fingerprint() const;
};

/// Writes, for each sample N from 0, "N.img", "N.txt", "N.vec" and "N.step" [1, 3]: picture, step and
/// timestep. For a transformer, img is [image tokens, width], txt [text tokens, width], vec [1, width]
/// (time, guidance and pooled text together, before the silu), and there is "N.positions" [tokens, axes],
/// text first. For a UNet, img is [predictions, height, width, channels], txt [predictions, text tokens,
/// width], vec [predictions or 1, width] (time and other conditioning, after the silu). All are F32; the
/// facts are the file's metadata. Throws InputError that names the file.
void write_samples(const std::filesystem::path& path, const Samples& samples);

/// Reads such a file. Throws InputError that names the file and the tensor, where one is missing, has
/// another shape or dtype, or holds what is not finite, and where there is no sample.
Samples read_samples(const std::filesystem::path& path);

}  // namespace precast::casting
