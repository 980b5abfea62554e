// Parses policies from options, and formats them as names.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cli/options/arguments.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/policy_table.hpp>
#include <families/presets.hpp>

#include <precast/io/joined.hpp>
#include <precast/policy/choice_options.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/presets.hpp>
#include <precast/policy/visit.hpp>

namespace precast::cli {

namespace {

/// The values of --preset: every preset, and auto.
std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const NamedPreset& preset : families::all_presets()) names.push_back(preset.name);
  names.emplace_back("auto");
  return names;
}

/// "f16, attention in f32"
std::string in_words(const PolicyChoice& choice) {
  if (const families::AddedPreset* const added = families::added_preset(choice))
    return std::string(added->summary);
  std::string text(to_string(choice.precision));
  if (choice.options.upcast_matmul) text += ", linear layers in f32";
  if (choice.options.upcast_conv) text += ", convolutions in f32";
  if (choice.options.upcast_attention) text += ", attention in f32";
  return choice.options.flash ? text + ", flash attention" : text;
}

/// "has +flash and +no-flash: give one of them"
std::string in_words(const InvalidOption& invalid) {
  const std::string option(invalid.option), earlier(invalid.earlier);
  if (earlier.empty()) {
    std::string casts;
    for (const ChoiceCast& cast : choice_casts) casts += "upcast-" + std::string(cast.name) + ", ";
    return "names no policy: after + come " + casts + "flash or no-flash";
  }
  return option == earlier ? "has +" + option + " twice: give it once"
                           : "has +" + earlier + " and +" + option + ": give one of them";
}

/// The presets of this build, and auto.
std::vector<std::string_view> offered_presets() {
  std::vector<std::string_view> names;
  for (const NamedPreset& preset : families::compiled_presets()) names.push_back(preset.name);
  names.emplace_back("auto");
  return names;
}

/// "quality: f32. balanced: …", in lines of a help text.
std::string presets_in_words() {
  std::string text;
  std::size_t line = 0;
  const auto add = [&](const std::string& sentence) {
    const bool fits = line + 1 + sentence.size() <= 76;
    if (!text.empty()) text += fits ? " " : "\n";
    line = fits ? line + 1 + sentence.size() : sentence.size();
    text += sentence;
  };
  for (const NamedPreset& preset : families::compiled_presets())
    add(std::string(preset.name) + ": " + in_words(preset.choice) + ".");
  add("auto: by device, free memory and model (default)");
  return text;
}

CLI::Option* add_precision(CLI::App& command, const std::string& names, std::optional<Precision>& precision,
                           const std::string& description) {
  const std::string first = names.substr(0, names.find(','));
  return command
      .add_option_function<std::string>(
          names,
          [first, &precision](const std::string& text) {
            precision = precision_named(parse_name(first, text, precision_names));
          },
          description)
      ->type_name(io::joined(compiled_precisions(), "|"));
}

/// `options` with flash and the casts of `added`.
ChoiceOptions with_additions(ChoiceOptions options, const ChoiceOptions& added) {
  for (const ChoiceCast& cast : choice_casts) options.*cast.wanted |= added.*cast.wanted;
  options.flash |= added.flash;
  return options;
}

PolicyChoice with_flags(PolicyChoice choice, const PolicyOptions& options) {
  if (options.precision) choice.precision = *options.precision;
  choice.options = with_additions(choice.options, options.added);
  if (options.no_flash) choice.options.flash = false;
  return choice;
}

/// Throws UsageError if a choice is not a path, naming the cast that would make it one.
void require_is_path(const PolicyChoice& choice) {
  if (families::added_preset(choice) || is_path(choice)) return;
  const PolicyChoice nearest = nearest_path(choice);
  throw UsageError("no path casts up convolutions and " +
                   std::string(choice.options.upcast_attention
                                   ? "attention but not linear layers: add --upcast-matmul"
                                   : "linear layers but not attention: add --upcast-attention") +
                   " (the nearest path is " + policy_text(nearest) + ")");
}

}  // namespace

bool PolicyOptions::empty() const {
  return preset.empty() && !precision && added == ChoiceOptions{} && !no_flash;
}

bool PolicyOptions::automatic() const { return preset == "auto" || (preset.empty() && !precision); }

void add_policy_options(CLI::App& command, PolicyOptions& options) {
  const std::string group = "Precision";
  command
      .add_option_function<std::string>(
          "--preset",
          [&](const std::string& text) { options.preset = parse_name("--preset", text, preset_names()); },
          presets_in_words())
      ->type_name(io::joined(offered_presets(), "|"))
      ->group(group);
  add_precision(command, "--precision", options.precision,
                "Precision of all components; without --preset, a plain policy of it")
      ->group(group);
  command
      .add_flag("--upcast-attention", options.added.upcast_attention,
                "Attention takes f32 operands and scores")
      ->group(group);
  command.add_flag("--upcast-matmul", options.added.upcast_matmul, "Linear layers take f32 operands")
      ->group(group);
  command
      .add_flag("--upcast-conv", options.added.upcast_conv,
                "Convolutions take f32 operands; alone, or with both other casts")
      ->group(group);
  CLI::Option* flash =
      command.add_flag("--flash", options.added.flash, "Attention without a score matrix in memory");
  CLI::Option* no_flash = command.add_flag("--no-flash", options.no_flash, "Attention with one");
  flash->group(group)->excludes(no_flash);
  no_flash->group(group)->excludes(flash);
}

void add_component_options(CLI::App& command, PolicyOptions& options) {
  const std::string group = "Precision";
  add_precision(command, "--transformer-precision,--unet-precision", options.transformer,
                "Precision of the transformer, of Stable Diffusion the UNet, alone")
      ->group(group);
  add_precision(command, "--vae-precision", options.vae, "Precision of the VAE alone")->group(group);
  add_precision(command, "--text-precision", options.text, "Precision of the text encoders alone")
      ->group(group);
  add_precision(command, "--clip-precision", options.clip, "Precision of CLIP alone, of OpenCLIP too")
      ->group(group);
  add_precision(command, "--t5-precision", options.t5, "Precision of T5 alone")->group(group);
}

PolicyChoice resolved(const PolicyOptions& options, const PolicyChoice& chosen_by_auto) {
  PolicyChoice base = chosen_by_auto;
  if (!options.automatic()) {
    const auto preset = families::find_preset(options.preset);
    base = preset ? preset->choice : PolicyChoice{};
  }
  base = with_flags(base, options);
  require_is_path(base);
  return base;
}

families::ComponentChoices resolved_components(const PolicyOptions& options,
                                               const PolicyChoice& chosen_by_auto) {
  const PolicyChoice base = resolved(options, chosen_by_auto);
  const auto component = [&](const std::optional<Precision>& precision) {
    PolicyChoice choice = base;
    if (precision) choice.precision = *precision;
    choice = choice.normalised();
    require_is_path(choice);
    return choice;
  };
  families::ComponentChoices choices{component(options.transformer),
                                     component(options.clip ? options.clip : options.text),
                                     component(options.vae)};
  const PolicyChoice t5 = component(options.t5 ? options.t5 : options.text);
  if (t5 != choices.text_encoder) choices.t5_encoder = t5;
  return choices;
}

void require_used(const PolicyOptions& options, const families::Family& family) {
  const auto is_second = [](const families::ComponentInfo& component) {
    return component.role == families::Role::t5_encoder;
  };
  if (options.t5 && std::ranges::none_of(family.components(), is_second))
    throw UsageError("--t5-precision is for models with a T5, and this is a model of the family " +
                     std::string(family.name()) + ": leave it out (--clip-precision sets its text encoders)");
}

std::vector<std::string_view> compiled_precisions() {
  std::vector<std::string_view> names(precision_names.begin(), precision_names.end());
  std::erase_if(names, [](std::string_view name) {
    bool has_path = false;
    for_each_path([&](auto path) { has_path |= to_string(decltype(path)::choice.precision) == name; });
    return !has_path;
  });
  return names;
}

std::string policy_names() {
  std::vector<std::string_view> names;
  for (const NamedPreset& preset : families::compiled_presets()) names.push_back(preset.name);
  for (const std::string_view name : compiled_precisions()) names.push_back(name);
  return io::joined(names, "|");
}

std::string usual_policy(std::span<const NamedPreset> compiled) {
  constexpr std::string_view usual = "balanced";
  const bool is_there =
      compiled.empty() || std::ranges::find(compiled, usual, &NamedPreset::name) != compiled.end();
  return std::string(is_there ? usual : compiled.front().name);
}

PolicyChoice parse_policy(const std::string& text) {
  const std::string base = text.substr(0, text.find('+'));
  PolicyChoice choice;
  if (const auto preset = families::find_preset(base)) {
    choice = preset->choice;
  } else if (const auto precision = precision_named(base)) {
    choice.precision = *precision;
  } else {
    std::vector<std::string> names;
    for (const NamedPreset& known : families::all_presets()) names.emplace_back(known.name);
    names.insert(names.end(), precision_names.begin(), precision_names.end());
    throw UsageError("'" + text + "' names no policy: begin with " + listed(names));
  }
  const OptionsRead read = read_options(text, choice.options);
  if (read.invalid) throw UsageError("'" + text + "' " + in_words(*read.invalid));
  choice.options = read.options;
  choice = choice.normalised();
  require_is_path(choice);
  return choice;
}

std::vector<PolicyChoice> listed_policies(const std::vector<std::string>& lists) {
  std::vector<PolicyChoice> policies;
  for (const std::string& list : lists)
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      policies.push_back(parse_policy(list.substr(begin, end - begin)));
      begin = end + 1;
    }
  if (lists.empty())
    for (const NamedPreset& preset : families::compiled_presets()) policies.push_back(preset.choice);
  for (const PolicyChoice& choice : policies)
    if (std::count(policies.begin(), policies.end(), choice) > 1)
      throw UsageError("--policies names " + policy_text(choice) + " twice");
  std::for_each(policies.begin(), policies.end(), families::require_policy);
  return policies;
}

std::string policy_text(const PolicyChoice& choice) {
  if (const std::string_view preset = preset_of(choice); !preset.empty()) return std::string(preset);
  std::string text(families::precision_name(choice));
  spell_options(choice.options, [&](std::string_view part) { text += part; });
  return text;
}

std::vector<std::string> policy_arguments(const std::string& text) {
  std::vector<std::string> arguments;
  const auto flags = [&](const ChoiceOptions& options) {
    for (const ChoiceCast& cast : choice_casts)
      if (options.*cast.wanted) arguments.push_back("--upcast-" + std::string(cast.name));
    if (options.flash) arguments.emplace_back("--flash");
  };
  if (text.find(',') == std::string::npos) {
    const PolicyChoice choice = parse_policy(text);
    if (families::find_preset(text)) return {"--preset", text};
    arguments = {"--precision", std::string(families::precision_name(choice))};
    flags(choice.options);
    return arguments;
  }
  // Casts are shared by all components, but f32 does not show them, since they do not change it.
  ChoiceOptions together;
  std::vector<std::pair<std::string, Precision>> precisions;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view part = std::string_view(text).substr(begin, end - begin);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const std::size_t space = part.find(' ');
    if (space == std::string_view::npos) throw UsageError("'" + text + "' names no policies of components");
    const PolicyChoice choice = parse_policy(std::string(part.substr(space + 1)));
    if (families::added_preset(choice)) throw UsageError("'" + text + "' names no precisions of components");
    precisions.emplace_back(part.substr(0, space), choice.precision);
    together = with_additions(together, choice.options);
    begin = end + 1;
  }
  const std::string first(to_string(precisions.front().second));
  arguments = {"--precision", first};
  for (const auto& [component, precision] : precisions)
    if (to_string(precision) != first) {
      arguments.push_back("--" + component + "-precision");
      arguments.emplace_back(to_string(precision));
    }
  flags(together);
  return arguments;
}

std::string policy_text(const families::ComponentChoices& choices) {
  if (choices == families::ComponentChoices::all(choices.denoiser)) return policy_text(choices.denoiser);
  const std::string text = policy_text(choices.text_encoder);
  return "transformer " + policy_text(choices.denoiser) + ", " +
         (choices.t5_encoder ? "clip " + text + ", t5 " + policy_text(*choices.t5_encoder) : "text " + text) +
         ", vae " + policy_text(choices.vae);
}

}  // namespace precast::cli
