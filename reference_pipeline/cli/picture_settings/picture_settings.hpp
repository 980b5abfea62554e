// The settings that pictures carry, whoever made them: read from their texts, and written as a command.
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

/// What a negative prompt begins with, on a line of its own.
inline constexpr std::string_view negative_label = "Negative prompt:";

/// Who wrote the settings.
enum class SettingsSource : std::uint8_t {
  precast,
  parameters,  ///< another program that writes the text "parameters": AUTOMATIC1111, Forge,
               ///< stable-diffusion.cpp
  comfyui,     ///< ComfyUI's graph of nodes
};
std::string_view to_string(SettingsSource source);

/// How a picture was made, as far as it says.
struct PictureSettings {
  SettingsSource source = SettingsSource::precast;
  std::string prompt;
  std::optional<std::string> negative;  ///< "" is not none: XL models keep away from it, and not from zeros
  /// Names and values in their order, under the names of the text "parameters": "Steps", "20".
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> notes;  ///< sentences on what was left out

  /// The value of that name, or "".
  std::string value(std::string_view name) const;
};

/// The pairs of a line "Steps: 20, Model: \"a, b\"": a value in quotes is JSON. Nothing where the line is
/// none.
std::vector<std::pair<std::string, std::string>> read_pairs(std::string_view line);

/// A value as such a line holds it: JSON where it has a comma, a colon, a quote or a line break.
std::string quoted_value(const std::string& value);

/// The text "parameters": the prompt, perhaps "Negative prompt: …", then a line of at least three pairs.
/// Nothing where there is no such line.
std::optional<PictureSettings> read_parameters(const std::string& text);

/// ComfyUI's "prompt", which is the graph as it ran, or its "workflow", which is the graph as it was drawn.
/// Looks for the sampler and follows its links to texts, guidance, noise, size and model. Nothing where no
/// sampler is there. Throws InputError where the text is not JSON; `file` is for messages.
std::optional<PictureSettings> read_comfyui(const std::string& text, const std::filesystem::path& file);

/// The settings among a picture's texts: the first of "parameters", "prompt" and "workflow" that can be read.
/// Throws InputError where there are none that are known.
PictureSettings settings_of(std::span<const image::Text> texts, const std::filesystem::path& file);

/// A command line that makes the picture again, `compare`'s for its contact sheet, and what it cannot say.
struct RemadeCommand {
  std::vector<std::string> arguments;  ///< "precast", "generate", …
  std::vector<std::string> notes;      ///< sentences
};
RemadeCommand command_for(const PictureSettings& settings);

/// The arguments as a line for a POSIX shell: $'\033' for control characters other than line breaks.
std::string shell_line(std::span<const std::string> arguments);

}  // namespace precast::cli
