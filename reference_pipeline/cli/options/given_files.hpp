// The files that a run is given: what pictures and measurements say of them, and that no output replaces one.
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

/// A part of a model that may come from a file of its own.
struct GivenPart {
  std::string_view component;  ///< "text_encoder"
  std::string_view label;      ///< in the text "parameters": "Text encoder"
  std::string_view option;     ///< "--text-encoder"
};
inline constexpr std::array<GivenPart, 4> given_parts{
    {{"transformer", "Transformer", "--transformer"},
     {"text_encoder", "Text encoder", "--text-encoder"},
     {"text_encoder_2", "Text encoder 2", "--text-encoder-2"},
     {"vae", "VAE", "--vae"}}};

/// The name of a file or folder without where it lies, as a picture says it; of a folder the one around it
/// too, "FLUX.1-dev/transformer", as components' folders all have the same names.
std::string given_name(const std::filesystem::path& path);

/// Label and name of each part that is taken from a file of its own: {"VAE", "ae.safetensors"}.
std::vector<std::pair<std::string, std::string>> given_files(const families::ModelFiles& model);

/// The name of what `cost` casts: the model's, and the transformer's where that is given by itself: "shapes,
/// transformer from shapes-q8_0.gguf". Numbers of one are not those of the other.
/// `named` is what was given for --model.
std::string cast_model_name(const families::ModelFiles& model, const std::optional<std::string>& named);

/// Throws UsageError that names the first output that is one of the inputs, also by another name or through
/// a link: it would be replaced. Empty names and standard streams are none.
void check_inputs_stay(std::span<const std::filesystem::path> outputs,
                       std::span<const std::filesystem::path> inputs);

/// The same for the model's file, those of its parts, and those that are in its folders: configurations,
/// weights and tokenizers.
void check_inputs_stay(std::span<const std::filesystem::path> outputs, const families::ModelFiles& model);

}  // namespace precast::cli
