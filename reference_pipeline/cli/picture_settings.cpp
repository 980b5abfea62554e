// Reads the text "parameters", and writes settings as a command.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>

#include <cli/arguments.hpp>
#include <cli/given_files.hpp>
#include <cli/picture_settings.hpp>
#include <cli/policy_options.hpp>
#include <families/presets.hpp>
#include <image/fit.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

constexpr std::string_view negative_label = "Negative prompt:";
constexpr std::size_t fewest_pairs = 3;  // one or two may be a sentence of the prompt

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The end of a JSON string that begins at 0; npos where it has none.
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

/// Adds "--option value" where a value is there and the option would take it.
class Arguments {
 public:
  explicit Arguments(RemadeCommand& command) : command_(command) {}

  void add(const std::string& option, const std::string& value) {
    // A value that begins with a dash would be read as an option.
    if (value.starts_with("-"))
      command_.arguments.push_back(option + "=" + value);
    else
      command_.arguments.insert(command_.arguments.end(), {option, value});
  }
  void add_integer(const std::string& option, const std::string& value, std::int64_t low, std::int64_t high) {
    add_checked(option, value, [&] { parse_integer(option, value, low, high); });
  }
  void add_seed(const std::string& value) {
    add_checked("--seed", value, [&] { parse_seed("--seed", value); });
  }
  void add_real(const std::string& option, const std::string& value, double low, double high) {
    add_checked(option, value, [&] { parse_real(option, value, low, high); });
  }
  void note(std::string sentence) { command_.notes.push_back(std::move(sentence)); }

 private:
  template <class Check>
  void add_checked(const std::string& option, const std::string& value, Check&& check) {
    if (value.empty()) return;
    try {
      check();
    } catch (const UsageError& wrong) {
      return note(io::printable(wrong.what(), 300));
    }
    add(option, value);
  }

  RemadeCommand& command_;
};

void add_size(Arguments& to, const std::string& size) {
  const std::size_t cross = size.find('x');
  if (cross == std::string::npos) return;
  to.add_integer("--width", size.substr(0, cross), 1, 16384);
  to.add_integer("--height", size.substr(cross + 1), 1, 16384);
}

/// "fast", "f16+upcast-attention", or "transformer fast, text quality, vae quality".
void add_policy(Arguments& to, RemadeCommand& command, const std::string& text) {
  if (text.empty()) return;
  const auto flags = [&](const PolicyChoice& choice) {
    if (choice.upcast_attention) command.arguments.emplace_back("--upcast-attention");
    if (choice.upcast_matmul) command.arguments.emplace_back("--upcast-matmul");
    if (choice.flash) command.arguments.emplace_back("--flash");
  };
  try {
    if (text.find(',') == std::string::npos) {
      const PolicyChoice choice = parse_policy(text);
      if (families::find_preset(text)) return to.add("--preset", text);
      to.add("--precision", std::string(families::precision_name(choice)));
      return flags(choice);
    }
    // All components have the same casts, but those of f32, which change nothing, are not said.
    PolicyChoice together;
    std::vector<std::pair<std::string, Precision>> precisions;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view part = trimmed(std::string_view(text).substr(begin, end - begin));
      const std::size_t space = part.find(' ');
      if (space == std::string_view::npos) throw UsageError("no policy");
      const PolicyChoice choice = parse_policy(std::string(part.substr(space + 1)));
      if (families::added_preset(choice)) throw UsageError("no precision");
      precisions.emplace_back(part.substr(0, space), choice.precision);
      together.upcast_attention |= choice.upcast_attention;
      together.upcast_matmul |= choice.upcast_matmul;
      together.flash |= choice.flash;
      begin = end + 1;
    }
    const std::string first(to_string(precisions.front().second));
    to.add("--precision", first);
    for (const auto& [component, precision] : precisions)
      if (std::string(to_string(precision)) != first)
        to.add("--" + component + "-precision", std::string(to_string(precision)));
    flags(together);
  } catch (const UsageError&) {
    to.note("its precision, '" + io::printable(text) + "', is not known to this version");
  }
}

/// Whether a scale is that of a run without classifier-free guidance, which takes no negative prompt.
bool without_cfg(const std::string& scale) {
  double number = 0;
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), number);
  return scale.empty() || (error == std::errc() && end == scale.data() + scale.size() && number == 1);
}

bool from_parameters(const PictureSettings& settings) {
  return settings.source == SettingsSource::parameters;
}

/// Whether a second, larger pass followed; its strength is then what the text calls denoising strength.
bool has_hires_pass(const PictureSettings& settings) {
  return from_parameters(settings) && std::ranges::any_of(settings.values, [](const auto& pair) {
           return pair.first.starts_with("Hires");
         });
}

/// Euler's method, under the names that programs have for it: stable-diffusion.cpp says "euler", with the
/// schedule's name behind it where one was chosen.
bool is_euler(const std::string& sampler) {
  return sampler == "Euler" || sampler == "euler" ||
         (sampler.starts_with("euler ") && !sampler.starts_with("euler a"));
}

/// Whether Precast made it with a model of Stable Diffusion: its pictures of Flux say how many tokens T5 saw.
bool is_stable_diffusion(const PictureSettings& settings) {
  return settings.source == SettingsSource::precast && settings.value("T5 length").empty() &&
         !settings.value("Sampler").empty();
}

/// The sampler's name here, or "" where it is none of those.
std::string sampler_of(const PictureSettings& settings) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> names{
      {{"DDIM", "ddim"},
       {"PLMS", "pndm"},
       {"Euler", "euler"},
       {"Euler a", "euler_a"},
       {"euler_a", "euler_a"},
       {"DPM++ 2M", "dpmpp_2m"},
       {"DPM++ 2M Karras", "dpmpp_2m_karras"},
       {"dpm++2m", "dpmpp_2m"},
       {"LCM", "lcm"}}};
  if (!settings.value("Distilled CFG Scale").empty()) return {};  // of a Flux model
  const std::string sampler = settings.value("Sampler");
  const auto found = std::ranges::find(names, std::string_view(sampler),
                                       &std::pair<std::string_view, std::string_view>::first);
  if (found == names.end() || (found->second == "euler" && !is_stable_diffusion(settings))) return {};
  // Newer versions of AUTOMATIC1111 say the schedule by itself.
  if (found->second == "dpmpp_2m" && settings.value("Schedule type") == "Karras") return "dpmpp_2m_karras";
  return std::string(found->second);
}

void add_sampler(Arguments& to, const PictureSettings& settings) {
  if (const std::string sampler = sampler_of(settings); !sampler.empty()) to.add("--sampler", sampler);
  if (settings.source != SettingsSource::precast) return;
  to.add_real("--eta", settings.value("Eta"), 0, 1);
  to.add_real("--guidance-rescale", settings.value("CFG Rescale"), 0, 1);
  if (const std::string refiner = settings.value("Refiner"); !refiner.empty()) {
    to.add("--refiner", refiner);
    to.add_real("--refiner-start", settings.value("Refiner switch at"), 0, 1);
    to.note("its refiner was '" + io::printable(refiner) + "': say where that is");
  }
  if (const std::string mask = settings.value("Mask"); !mask.empty()) {
    to.add("--mask", "MASK.png");
    to.note("its mask was '" + io::printable(mask) + "', which it does not hold: MASK.png stands for it");
  }
}

void add_guidance(Arguments& to, const PictureSettings& settings) {
  if (is_stable_diffusion(settings)) {
    to.add_real("--guidance", settings.value("CFG scale"), 0, 1000);
    if (!settings.negative.empty()) to.add("--negative", settings.negative);
    return;
  }
  std::string distilled = settings.value("Distilled CFG Scale");
  const std::string scale = settings.value("CFG scale");
  // stable-diffusion.cpp's name for it.
  if (distilled.empty() && from_parameters(settings)) distilled = settings.value("Guidance");
  to.add_real("--guidance", distilled, 0, 1000);
  if (without_cfg(scale)) return;
  to.add_real("--cfg-scale", scale, 1, 1000);
  if (!settings.negative.empty()) to.add("--negative", settings.negative);
}

void add_batch(Arguments& to, const PictureSettings& settings) {
  const std::string size = settings.value("Batch size"), position = settings.value("Batch pos");
  if (settings.source != SettingsSource::precast || size.empty()) return;
  to.add_integer("--batch", size, 1, 1024);
  to.note("it is one of " + io::printable(size) +
          " pictures, whose noise is drawn one after another: number " +
          (position.find_first_not_of("0123456789") == std::string::npos && position.size() < 5 &&
                   !position.empty()
               ? std::to_string(std::stoi(position) + 1)
               : std::string("?")) +
          " is the one");
}

bool is_file_of_weights(const std::string& model) {
  return model.ends_with(".gguf") || model.ends_with(".safetensors");
}

void add_model(Arguments& to, const PictureSettings& settings) {
  const std::string model = settings.value("Model");
  if (model.empty() || (settings.source == SettingsSource::precast && model == "shapes")) return;
  if (settings.source != SettingsSource::precast)
    return to.note("it was made with the model '" + io::printable(model) +
                   "': say --model and the folder where you have it");
  to.add("--model", model);
  const std::string folder = model.starts_with("./") ? model.substr(2) : model;
  if (folder.find('/') == std::string::npos)
    to.note(std::string("its model was ") + (is_file_of_weights(folder) ? "a file" : "in a folder") +
            " called '" + io::printable(folder) + "': say where that is");
}

/// The files that stood in for parts of the model, and the plan that it was cast by.
void add_given_files(Arguments& to, const PictureSettings& settings) {
  if (settings.source != SettingsSource::precast) return;
  const auto add = [&](std::string_view label, const std::string& option) {
    const std::string file = settings.value(label);
    if (file.empty()) return;
    to.add(option, file);
    to.note("its " + option.substr(2) + " was read from '" + io::printable(file) + "': say where that is");
  };
  for (const GivenPart& part : given_parts) add(part.label, std::string(part.option));
  add("Plan", "--plan");
}

void add_prompt(Arguments& to, const std::string& prompt) {
  if (prompt != "-") return to.add("--prompt", prompt);
  to.add("--prompts-file", "PROMPT.txt");
  to.note(
      "its prompt is '-', which --prompt takes for standard input: PROMPT.txt stands for a file with that "
      "line");
}

/// "a | b" as a list for --policies.
std::string policies_list(std::string text) {
  for (std::size_t at = 0; (at = text.find(" | ")) != std::string::npos;) text.replace(at, 3, ",");
  return text;
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
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
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
  if (settings.value("Version").starts_with("precast") || is_sheet) {  // to the letter
    // There is a negative prompt only where there is a scale for it.
    const std::string introduction = "\n" + std::string(negative_label) + " ";
    const std::size_t negative =
        settings.value("CFG scale") == "1" ? std::string_view::npos : rest.rfind(introduction);
    settings.prompt = rest.substr(0, negative);
    if (negative != std::string_view::npos) settings.negative = rest.substr(negative + introduction.size());
    return settings;
  }
  settings.source = SettingsSource::parameters;
  const std::size_t label =
      rest.starts_with(negative_label) ? 0 : rest.find("\n" + std::string(negative_label));
  settings.prompt = trimmed(rest.substr(0, label));
  if (label != std::string_view::npos)
    settings.negative = trimmed(rest.substr(rest.find(negative_label, label) + negative_label.size()));
  return settings;
}

PictureSettings settings_of(std::span<const image::Text> texts, const std::filesystem::path& file) {
  for (const image::Text& text : texts)
    if (text.key == "parameters")
      if (auto settings = read_parameters(text.value)) return *settings;
  std::optional<InputError> wrong;  // of a text that is no graph: another may be one
  for (const std::string_view key : {"prompt", "workflow"})
    for (const image::Text& text : texts) {
      if (text.key != key) continue;
      try {
        if (auto settings = read_comfyui(text.value, file)) return *settings;
      } catch (const InputError& error) {
        if (!wrong) wrong = error;
      }
    }
  if (wrong) throw *wrong;
  std::vector<std::string> keys;
  for (const image::Text& text : texts) keys.push_back(io::printable(text.key, 40));
  throw io::file_error(
      file, texts.empty() ? "holds no texts: its settings were not written, or were taken out"
                          : "holds texts (" + listed(keys, "and") + "), but no settings that are known here");
}

RemadeCommand command_for(const PictureSettings& settings) {
  const std::string policies =
      settings.source == SettingsSource::precast ? settings.value("Policies") : std::string();
  RemadeCommand command{{"precast", policies.empty() ? "generate" : "compare"}, settings.notes};
  Arguments to(command);
  add_model(to, settings);
  add_given_files(to, settings);
  add_prompt(to, settings.prompt);
  to.add_seed(settings.value("Seed"));
  to.add_integer("--steps", settings.value("Steps"), 1, 10000);
  add_guidance(to, settings);
  add_sampler(to, settings);
  add_size(to, settings.value("Size"));
  to.add_integer("--max-sequence-length", settings.value("T5 length"), 1, 1 << 20);
  to.add_integer("--t5-padding", settings.value("T5 padding"), 1, 1 << 20);
  add_batch(to, settings);
  const std::string strength = settings.value("Denoising strength");
  if (has_hires_pass(settings)) {
    to.note("its second, larger pass (Hires) is left out: these are the settings of the first");
  } else if (!strength.empty() && (settings.source == SettingsSource::precast || strength != "1")) {
    to.add("--image", "INPUT.png");
    to.add_real("--strength", strength, 0, 1);
    if (const std::string fit = settings.value("Fit"); image::fit_named(fit)) to.add("--fit", fit);
    to.note("it was made from a picture, which it does not hold: INPUT.png stands for it");
  }
  if (!settings.value("Initial noise").empty()) {
    to.add("--latents", "LATENTS.safetensors");
    to.note("its noise came from a file, which it does not hold: LATENTS.safetensors stands for it");
  }
  to.add_integer("--quality", settings.value("Quality"), 1, 100);
  if (!policies.empty()) {
    to.add("--policies", policies_list(policies));
    to.note("it is a contact sheet of precast compare, not a picture of its own");
  } else if (settings.source == SettingsSource::precast) {
    add_policy(to, command, settings.value("Precision"));
  }
  if (!settings.negative.empty() && without_cfg(settings.value("CFG scale")) &&
      !is_stable_diffusion(settings))
    to.note("its negative prompt is left out, which does nothing at a CFG scale of 1: '" +
            io::printable(settings.negative, 300) + "'");
  if (settings.source != SettingsSource::precast) {
    if (const std::string sampler = settings.value("Sampler");
        !sampler.empty() && !is_euler(sampler) && sampler_of(settings).empty())
      to.note("its sampler is " + io::printable(sampler) +
              ", which is not here for such a model: the model's own takes its place");
    to.note("another program made it: the same settings make another picture of the same kind");
  }
  return command;
}

namespace {

/// The length of the control character at this place, C1's two bytes among them; 0 where there is none.
std::size_t control_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(at) < 0x20 || byte(at) == 0x7f) return 1;
  return byte(at) == 0xc2 && at + 1 < text.size() && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0 ? 2 : 0;
}

bool has_controls(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\n' && control_at(text, i)) return true;
  return false;
}

/// $'…' with every control character as octal digits: three, so that a digit may follow.
std::string with_escapes(std::string_view word) {
  std::string result = "$'";
  for (std::size_t i = 0; i < word.size(); ++i) {
    const std::size_t length = control_at(word, i);
    if (length == 0) {
      if (word[i] == '\'' || word[i] == '\\') result += '\\';
      result += word[i];
      continue;
    }
    for (const char c : word.substr(i, length)) {
      char digits[8];
      std::snprintf(digits, sizeof digits, "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += digits;
    }
    i += length - 1;
  }
  return result + '\'';
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t length = control_at(text, i);
    result += length ? '?' : text[i];
    if (length) i += length - 1;
  }
  return result;
}

std::string shell_line(std::span<const std::string> arguments) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./:=+,@%").find(c) != std::string_view::npos;
  };
  std::string line;
  for (const std::string& word : arguments) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && std::ranges::all_of(word, plain)) {
      line += word;
      continue;
    }
    if (has_controls(word)) {
      line += with_escapes(word);
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace precast::cli
