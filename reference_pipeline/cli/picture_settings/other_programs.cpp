// Finds settings of other programs' pictures that no command here can reproduce.
#include <algorithm>
#include <array>
#include <cctype>

#include <cli/picture_settings/other_programs.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// Settings that the command has, or that other notes cover.
constexpr std::array<std::string_view, 17> handled_elsewhere{
    "Steps",     "Sampler",    "Schedule type",       "CFG scale",
    "Seed",      "Size",       "Distilled CFG Scale", "Guidance",
    "Model",     "Version",    "Denoising strength",  "Batch size",
    "Batch pos", "VAE tiling", "T5 length",           "T5 padding",
    "Clip skip"};

/// Whether a setting names files, people or sites, which have no effect on the picture.
bool has_no_effect_on_picture(std::string_view name) {
  return name.ends_with("hash") || name.ends_with("hashes") || name.starts_with("Civitai") ||
         name.starts_with("Hires") || name == "Created Date" || name == "User" || name == "Quality";
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Whether a schedule has the timesteps of a model's own, except for the end to which they round.
bool is_usual_schedule(const std::string& schedule) {
  constexpr std::array<std::string_view, 9> usual{
      "", "automatic", "uniform", "normal", "simple", "discrete", "default", "sgm uniform", "sgm_uniform"};
  return std::ranges::find(usual, schedule) != usual.end() || schedule.starts_with("ddim");
}

/// The first "<lora:name:0.8>" or "<lyco:…>", or "".
std::string network_in(const std::string& prompt) {
  for (const std::string_view kind : {"<lora:", "<lyco:", "<hypernet:"})
    if (const std::size_t begin = prompt.find(kind); begin != std::string::npos)
      return prompt.substr(begin, std::min(prompt.find('>', begin), prompt.size() - 1) + 1 - begin);
  return {};
}

/// Whether a prompt has unescaped parentheses, which weight words in those programs.
bool weighs_words(const std::string& prompt) {
  bool open = false;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] == '\\')
      ++i;
    else if (prompt[i] == '(')
      open = true;
    else if (prompt[i] == ')' && open)
      return true;
  }
  return false;
}

}  // namespace

bool has_karras_schedule(const PictureSettings& settings) {
  const std::string schedule = in_lower_case(settings.value("Schedule type"));
  return schedule == "karras" || (schedule == "automatic" && settings.source == SettingsSource::parameters);
}

std::vector<std::string> notes_on_what_is_left_out(const PictureSettings& settings,
                                                   std::string_view sampler) {
  std::vector<std::string> notes;
  const bool is_flux = !settings.value("Distilled CFG Scale").empty() || !settings.value("Guidance").empty();
  const std::string schedule = settings.value("Schedule type"), scale = settings.value("CFG scale");
  if (!is_usual_schedule(in_lower_case(schedule)) &&
      !(sampler.ends_with("_karras") && has_karras_schedule(settings)))
    notes.push_back("its noise schedule, '" + io::printable(schedule) +
                    "', is not supported for its sampler: the model's own is used instead");
  if (in_lower_case(settings.value("Sampler")) == "euler" && !is_flux && !scale.empty() && scale != "1")
    notes.emplace_back("its sampler is Euler: for a model of Stable Diffusion add --sampler euler");
  if (const std::string network = network_in(settings.prompt); !network.empty())
    notes.push_back("its prompt asks for '" + io::printable(network) +
                    "', which is not supported: it would be read as words, so remove it");
  if (weighs_words(settings.prompt) || weighs_words(settings.negative.value_or("")))
    notes.emplace_back("its words in parentheses were weighted: here they are read as they stand");
  if (settings.source != SettingsSource::parameters) return notes;
  std::string others;
  for (const auto& [name, value] : settings.values)
    if (!value.empty() && std::ranges::find(handled_elsewhere, name) == handled_elsewhere.end() &&
        !has_no_effect_on_picture(name))
      others += (others.empty() ? "" : ", ") + name + ": " + quoted_value(value);
  if (!others.empty())
    notes.push_back("settings without an option are left out: " + io::printable(others, 600));
  return notes;
}

}  // namespace precast::cli
