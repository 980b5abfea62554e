// The settings stored in pictures by any program: read from their texts, and written as a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cli/terminal/output.hpp>
#include <image/picture.hpp>

namespace precast::cli {

/// The prefix of the line with the negative prompt.
inline constexpr std::string_view negative_label = "Negative prompt:";

/// The kind of program that wrote the settings.
enum class SettingsSource : std::uint8_t {
  precast,
  parameters,  ///< another program that writes the text "parameters": AUTOMATIC1111, Forge,
               ///< stable-diffusion.cpp
  comfyui,     ///< ComfyUI's graph of nodes
};
std::string_view to_string(SettingsSource source);

/// The recorded settings of a picture.
struct PictureSettings {
  SettingsSource source = SettingsSource::precast;
  std::string prompt;
  std::optional<std::string> negative;  ///< "" differs from none: XL guides away from zeros for none
  /// Names and values in order, named as in the text "parameters": "Steps", "20".
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> notes;  ///< sentences on settings that are left out

  /// The value of a name, or "".
  std::string value(std::string_view name) const;
};

/// The pairs of a line "Steps: 20, Model: \"a, b\"", where a quoted value is JSON. Empty for other
/// lines.
std::vector<std::pair<std::string, std::string>> read_pairs(std::string_view line);

/// A value for such a line: JSON if it contains a comma, a colon, a quote or a line break.
std::string quoted_value(const std::string& value);

/// Parses the text "parameters": the prompt, optionally "Negative prompt: …", then a line of at least three
/// pairs. Nothing if there is no such line.
std::optional<PictureSettings> read_parameters(const std::string& text);

/// Parses ComfyUI's "prompt", the graph as run, or its "workflow", the graph as drawn. Finds the sampler
/// and follows its links to texts, guidance, noise, size and model. Nothing if there is no sampler. Throws
/// InputError if the text is not JSON; `file` is for messages.
std::optional<PictureSettings> read_comfyui(const std::string& text, const std::filesystem::path& file);

/// The settings in a picture's texts: the first of "parameters", "prompt" and "workflow" that can be read.
/// Throws InputError if there is none.
PictureSettings settings_of(std::span<const image::Text> texts, const std::filesystem::path& file);

/// A command that makes the picture again (`compare` for its contact sheet), and the settings it lacks.
struct RemadeCommand {
  std::vector<std::string> arguments;  ///< "precast", "generate", …
  std::vector<std::string> notes;      ///< sentences
};
RemadeCommand command_for(const PictureSettings& settings);

/// The arguments as a line for a POSIX shell; control characters other than line breaks as $'\033'.
std::string shell_line(std::span<const std::string> arguments);

}  // namespace precast::cli
