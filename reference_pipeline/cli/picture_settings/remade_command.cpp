// Writes the settings of a picture as a command that makes it again.
#include <algorithm>
#include <array>

#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/picture_settings/other_programs.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <image/fit.hpp>
#include <sampling/sampler_title.hpp>

#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

/// Adds "--option value" if there is a value and the option accepts it.
class Arguments {
 public:
  explicit Arguments(RemadeCommand& command) : command_(command) {}

  void add(const std::string& option, const std::string& value) {
    // A separate value with a leading dash would be parsed as an option.
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
  void add_real(const std::string& option, const std::string& value, const families::Range& range) {
    add_checked(option, value, [&] { parse_real(option, value, range); });
  }
  void add_flag(const std::string& option) { command_.arguments.push_back(option); }
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
  to.add_integer("--width", size.substr(0, cross), 1, families::largest_side);
  to.add_integer("--height", size.substr(cross + 1), 1, families::largest_side);
}

void add_policy(Arguments& to, RemadeCommand& command, const std::string& text) {
  if (text.empty()) return;
  try {
    for (std::string& word : policy_arguments(text)) command.arguments.push_back(std::move(word));
  } catch (const UsageError&) {
    to.note("its precision, '" + io::printable(text) + "', is not known to this version");
  }
}

/// Whether a scale means no classifier-free guidance, which ignores the negative prompt.
bool without_cfg(const std::string& scale) { return scale.empty() || io::number_in<double>(scale) == 1.0; }

bool from_parameters(const PictureSettings& settings) {
  return settings.source == SettingsSource::parameters;
}

/// Whether a second, larger pass followed, whose strength is then the text's denoising strength.
bool has_hires_pass(const PictureSettings& settings) {
  return from_parameters(settings) && std::ranges::any_of(settings.values, [](const auto& pair) {
           return pair.first.starts_with("Hires");
         });
}

/// Whether a sampler is Euler's method, under the names that programs use: stable-diffusion.cpp writes
/// "euler", followed by the schedule's name if one was chosen.
bool is_euler(const std::string& sampler) {
  return sampler == "Euler" || sampler == "euler" ||
         (sampler.starts_with("euler ") && !sampler.starts_with("euler a"));
}

/// Whether Precast made it with a Stable Diffusion model: for Flux it records T5's length.
bool is_stable_diffusion(const PictureSettings& settings) {
  return settings.source == SettingsSource::precast && settings.value("T5 length").empty() &&
         !settings.value("Sampler").empty();
}

/// The sampler's name here, or "" if there is no such sampler.
std::string_view sampler_of(const PictureSettings& settings) {
  if (!settings.value("Distilled CFG Scale").empty()) return {};  // a Flux model
  std::string title = settings.value("Sampler");
  if (title == "euler_a") title = "Euler a";  // as in stable-diffusion.cpp
  if (title == "dpm++2m") title = "DPM++ 2M";
  // Newer versions of AUTOMATIC1111 record the schedule separately.
  if ((title == "DPM++ 2M" || title == "DPM++ 2M SDE") && has_karras_schedule(settings)) title += " Karras";
  const auto found = sampling::sampler_titled(title);
  if (!found || (*found == sampling::SamplerKind::euler && !is_stable_diffusion(settings))) return {};
  return sampling::sampler_name(*found);
}

void add_sampler(Arguments& to, const PictureSettings& settings) {
  if (const auto sampler = sampler_of(settings); !sampler.empty()) to.add("--sampler", std::string(sampler));
  // A model whose CLIP layer can be chosen is not of Flux's family.
  if (settings.value("Distilled CFG Scale").empty())
    to.add_integer("--clip-skip", settings.value("Clip skip"), 1, families::most_clip_layers);
  if (settings.source != SettingsSource::precast) return;
  to.add_real("--eta", settings.value("Eta"), families::part_range);
  to.add_real("--guidance-rescale", settings.value("CFG Rescale"), families::part_range);
  to.add_real("--aesthetic-score", settings.value("Aesthetic score"), families::aesthetic_range);
  to.add_real("--negative-aesthetic-score", settings.value("Negative aesthetic score"),
              families::aesthetic_range);
  if (const std::string refiner = settings.value("Refiner"); !refiner.empty()) {
    to.add("--refiner", refiner);
    to.add_real("--refiner-start", settings.value("Refiner switch at"), families::part_range);
    to.note("its refiner was '" + io::printable(refiner) + "': give its path");
  }
  if (const std::string mask = settings.value("Mask"); !mask.empty()) {
    to.add("--mask", "MASK.png");
    to.note("its mask was '" + io::printable(mask) + "', which it does not hold: MASK.png stands for it");
  }
}

void add_guidance(Arguments& to, const PictureSettings& settings) {
  if (is_stable_diffusion(settings)) {
    to.add_real("--guidance", settings.value("CFG scale"), families::guidance_range);
    if (settings.negative) to.add("--negative", *settings.negative);
    return;
  }
  std::string distilled = settings.value("Distilled CFG Scale");
  const std::string scale = settings.value("CFG scale");
  // stable-diffusion.cpp's name for it.
  if (distilled.empty() && from_parameters(settings)) distilled = settings.value("Guidance");
  to.add_real("--guidance", distilled, families::guidance_range);
  if (without_cfg(scale)) return;
  to.add_real("--cfg-scale", scale, families::cfg_range);
  if (settings.negative) to.add("--negative", *settings.negative);
}

void add_batch(Arguments& to, const PictureSettings& settings) {
  const std::string size = settings.value("Batch size"), position = settings.value("Batch pos");
  if (settings.source != SettingsSource::precast || size.empty()) return;
  to.add_integer("--batch", size, 1, families::most_pictures);
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
                   "': give --model the folder where you have it");
  to.add("--model", model);
  if (settings.source == SettingsSource::precast && is_bundled(model)) return;
  const std::string folder = model.starts_with("./") ? model.substr(2) : model;
  if (folder.find('/') == std::string::npos)
    to.note(std::string("its model was ") + (is_file_of_weights(folder) ? "a file" : "in a folder") +
            " called '" + io::printable(folder) + "': give its path");
}

/// Adds the files that replaced parts of the model, and its plan.
void add_given_files(Arguments& to, const PictureSettings& settings) {
  if (settings.source != SettingsSource::precast) return;
  const auto add = [&](std::string_view label, const std::string& option) {
    const std::string file = settings.value(label);
    if (file.empty()) return;
    to.add(option, file);
    to.note("its " + option.substr(2) + " was read from '" + io::printable(file) + "': give its path");
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

/// The list for --policies in "a | b".
std::string policies_list(std::string text) {
  for (std::size_t at = 0; (at = text.find(" | ")) != std::string::npos;) text.replace(at, 3, ",");
  return text;
}

}  // namespace

RemadeCommand command_for(const PictureSettings& settings) {
  const std::string policies =
      settings.source == SettingsSource::precast ? settings.value("Policies") : std::string();
  RemadeCommand command{{"precast", policies.empty() ? "generate" : "compare"}, settings.notes};
  Arguments to(command);
  add_model(to, settings);
  add_given_files(to, settings);
  add_prompt(to, settings.prompt);
  to.add_seed(settings.value("Seed"));
  to.add_integer("--steps", settings.value("Steps"), 1, families::most_steps);
  add_guidance(to, settings);
  add_sampler(to, settings);
  add_size(to, settings.value("Size"));
  to.add_integer("--max-sequence-length", settings.value("T5 length"), 1, 1 << 20);
  to.add_integer("--t5-padding", settings.value("T5 padding"), 1, 1 << 20);
  if (settings.value("VAE tiling") == "yes") to.add_flag("--vae-tiling");
  add_batch(to, settings);
  const std::string strength = settings.value("Denoising strength");
  if (has_hires_pass(settings)) {
    to.note("its second, larger pass (Hires) is left out: these are the settings of the first");
  } else if (!strength.empty() && (settings.source == SettingsSource::precast || strength != "1")) {
    to.add("--image", "INPUT.png");
    to.add_real("--strength", strength, families::part_range);
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
  if (settings.negative && without_cfg(settings.value("CFG scale")) && !is_stable_diffusion(settings))
    to.note("its negative prompt is left out, which does nothing at a CFG scale of 1: '" +
            io::printable(*settings.negative, 300) + "'");
  if (settings.source != SettingsSource::precast) {
    if (const std::string sampler = settings.value("Sampler");
        !sampler.empty() && !is_euler(sampler) && sampler_of(settings).empty())
      to.note("its sampler is " + io::printable(sampler) +
              ", which is not supported for such a model: the model's own is used instead");
    for (std::string& sentence : notes_on_what_is_left_out(settings, sampler_of(settings)))
      to.note(std::move(sentence));
    to.note("another program made it: the same settings make another picture of the same kind");
  }
  return command;
}

}  // namespace precast::cli
