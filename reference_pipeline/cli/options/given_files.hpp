// The input files of a run: their names in pictures and measurements, and checks against overwriting them.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/model_files.hpp>

namespace precast::cli {

/// A part of a model that can be given as a file of its own.
struct GivenPart {
  std::string_view component;  ///< "text_encoder"
  std::string_view label;      ///< in the "parameters" text: "Text encoder"
  std::string_view option;     ///< "--text-encoder"
};
inline constexpr std::array<GivenPart, 4> given_parts{
    {{"transformer", "Transformer", "--transformer"},
     {"text_encoder", "Text encoder", "--text-encoder"},
     {"text_encoder_2", "Text encoder 2", "--text-encoder-2"},
     {"vae", "VAE", "--vae"}}};

/// The last component of a path, as recorded in pictures; for a folder the last two,
/// "FLUX.1-dev/transformer", as component folders have the same names in all models.
std::string given_name(const std::filesystem::path& path);

/// Label and name of each part that is given as a file of its own: {"VAE", "ae.safetensors"}.
std::vector<std::pair<std::string, std::string>> given_files(const families::ModelFiles& model);

/// The name of the model that `cost` casts, with the transformer's file if that is given: "shapes,
/// transformer from shapes-q8_0.gguf". Costs of one do not apply to the other. `named`: the value of
/// --model.
std::string cast_model_name(const families::ModelFiles& model, const std::optional<std::string>& named);

/// Throws UsageError that names the first output that is also an input, under another name or through a
/// link as well: it would be overwritten. Empty names and standard streams are skipped.
void check_inputs_stay(std::span<const std::filesystem::path> outputs,
                       std::span<const std::filesystem::path> inputs);

/// The same for the model's file, the files of its parts, and the files in its folders: configurations,
/// weights and tokenizers.
void check_inputs_stay(std::span<const std::filesystem::path> outputs, const families::ModelFiles& model);

}  // namespace precast::cli
