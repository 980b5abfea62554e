// Reads the text "parameters".
#include <algorithm>
#include <array>
#include <cctype>

#include <cli/options/arguments.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/json_text.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

constexpr std::size_t fewest_pairs = 3;  // fewer may be a sentence of the prompt

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The end of line `number`, counted from 1; npos if there is no such line, or `number` is not a number.
std::size_t end_of_line(std::string_view text, const std::string& number) {
  std::size_t lines = io::number_in<std::size_t>(number).value_or(0), end = 0;
  if (lines == 0) return std::string_view::npos;
  for (; lines > 1; --lines) {
    end = text.find('\n', end);
    if (end == std::string_view::npos) return end;
    ++end;
  }
  return text.find('\n', end);
}

/// The end of the JSON string that begins at 0; npos if it is not closed.
std::size_t end_of_string(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return std::string_view::npos;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(" _-/().").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string_view to_string(SettingsSource source) {
  constexpr std::array<std::string_view, 3> names{"precast", "parameters", "comfyui"};
  return names[static_cast<std::size_t>(source)];
}

std::string PictureSettings::value(std::string_view name) const {
  const auto found =
      std::ranges::find(values, name, [](const auto& pair) -> std::string_view { return pair.first; });
  return found == values.end() ? std::string() : found->second;
}

std::string quoted_value(const std::string& value) {
  if (value.find_first_of(",:\n\"") == std::string::npos) return value;
  return io::json_line(Json(value));
}

std::vector<std::pair<std::string, std::string>> read_pairs(std::string_view line) {
  std::vector<std::pair<std::string, std::string>> pairs;
  line = trimmed(line);
  while (!line.empty()) {
    const std::size_t colon = line.find(':');
    const std::string_view name = trimmed(line.substr(0, colon));
    if (colon == std::string_view::npos || !is_name(name)) return {};
    line = trimmed(line.substr(colon + 1));
    std::string value;
    std::size_t end = std::string_view::npos;
    if (line.starts_with('"') && (end = end_of_string(line)) != std::string_view::npos) {
      const Json text = Json::parse(line.substr(0, end), nullptr, false);
      value = text.is_string() ? text.get<std::string>() : std::string(line.substr(0, end));
      line = trimmed(line.substr(end));
      if (!line.empty() && line.front() != ',') return {};
      end = line.empty() ? line.size() : 0;
    } else {
      end = std::min(line.find(','), line.size());
      value = trimmed(line.substr(0, end));
    }
    pairs.emplace_back(name, value);
    line = end < line.size() ? trimmed(line.substr(end + 1)) : std::string_view{};
  }
  return pairs;
}

std::optional<PictureSettings> read_parameters(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == '\r')) rest.remove_suffix(1);
  const std::size_t last_break = rest.rfind('\n');
  const std::size_t line_begin = last_break == std::string_view::npos ? 0 : last_break + 1;
  PictureSettings settings;
  settings.values = read_pairs(rest.substr(line_begin));
  const bool is_sheet = !settings.value("Seed").empty() && !settings.value("Policies").empty();
  if (settings.values.size() < fewest_pairs && !is_sheet) return std::nullopt;
  rest = last_break == std::string_view::npos ? std::string_view{} : rest.substr(0, last_break);
  if (settings.value("Version").starts_with("precast") || is_sheet) {  // to the byte
    // Precast writes a negative prompt only with a scale for it.
    const std::string introduction = "\n" + std::string(negative_label) + " ";
    const std::string lines = settings.value("Prompt lines");
    const std::size_t negative = !lines.empty()                       ? end_of_line(rest, lines)
                                 : settings.value("CFG scale") == "1" ? std::string_view::npos
                                                                      : rest.rfind(introduction);
    settings.prompt = rest.substr(0, negative);
    if (negative != std::string_view::npos && rest.substr(negative).starts_with(introduction))
      settings.negative = rest.substr(negative + introduction.size());
    return settings;
  }
  settings.source = SettingsSource::parameters;
  const std::size_t label =
      rest.starts_with(negative_label) ? 0 : rest.find("\n" + std::string(negative_label));
  settings.prompt = trimmed(rest.substr(0, label));
  if (label != std::string_view::npos) {
    const std::string_view negative =
        trimmed(rest.substr(rest.find(negative_label, label) + negative_label.size()));
    if (!negative.empty()) settings.negative = negative;
  }
  return settings;
}

PictureSettings settings_of(std::span<const image::Text> texts, const std::filesystem::path& file) {
  for (const image::Text& text : texts)
    if (text.key == "parameters")
      if (auto settings = read_parameters(text.value)) return *settings;
  std::optional<InputError> wrong;  // from a text that is not a graph: the next may be one
  for (const std::string_view key : {"prompt", "workflow"})
    for (const image::Text& text : texts) {
      if (text.key != key) continue;
      try {
        if (auto settings = read_comfyui(text.value, file)) return *settings;
      } catch (const InputError& error) {
        if (!wrong) wrong = error;
      }
    }
  if (wrong) throw InputError(*wrong);
  std::vector<std::string> keys;
  for (const image::Text& text : texts) keys.push_back(io::printable(text.key, 40));
  throw io::file_error(file, texts.empty() ? "holds no texts: its settings were not written, or were removed"
                                           : "holds texts (" + io::printable(listed(keys, "and")) +
                                                 "), but no settings that precast knows");
}

}  // namespace precast::cli
