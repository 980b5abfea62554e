// The options by which a command line names policies, and what they resolve to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <families/choices.hpp>
#include <families/family.hpp>

#include <precast/policy/choice.hpp>
#include <precast/policy/choice_options.hpp>
#include <precast/policy/presets.hpp>

namespace precast::cli {

/// --preset, --precision, --upcast-*, --flash, and the precisions of single components.
struct PolicyOptions {
  std::string preset;  ///< "" where none was given
  std::optional<Precision> precision;
  ChoiceOptions added;  ///< flash and casts, beside those of the preset
  bool no_flash = false;
  std::optional<Precision> transformer, vae, text;  ///< of single components
  std::optional<Precision> clip, t5;                ///< of single text encoders, over `text`

  /// Whether nothing was asked for.
  bool empty() const;
  /// Whether the machine chooses the preset: auto, or neither preset nor precision. A precision without a
  /// preset is a plain policy, the same on every machine; beside auto it replaces the precision of what auto
  /// chooses.
  bool automatic() const;
};

/// Adds --preset, --precision, --upcast-attention, --upcast-matmul, --upcast-conv, --flash and --no-flash.
void add_policy_options(CLI::App& command, PolicyOptions& options);

/// Adds --transformer-precision (--unet-precision), --vae-precision, --text-precision, --clip-precision and
/// --t5-precision.
void add_component_options(CLI::App& command, PolicyOptions& options);

/// Throws UsageError where the precision of a text encoder is asked for that models of the family do not
/// have.
void require_used(const PolicyOptions& options, const families::Family& family);

/// The precisions of this build's paths: "f32", "bf16".
std::vector<std::string_view> compiled_precisions();

/// "quality|fast|…|f16": what a text that parse_policy takes begins with, for policies of this build.
std::string policy_names();

/// The policy that a model is measured under where nobody says which, of the presets that a build holds:
/// balanced, or else the first.
std::string usual_policy(std::span<const NamedPreset> compiled);

/// The policy that the options name, over the preset that `auto` chose where they leave it open. Throws
/// UsageError for casts that no path has together.
PolicyChoice resolved(const PolicyOptions& options, const PolicyChoice& chosen_by_auto);

/// The policy of each component. Throws as `resolved` does.
families::ComponentChoices resolved_components(const PolicyOptions& options,
                                               const PolicyChoice& chosen_by_auto);

/// The policy that a text names: a preset or a precision, then any of +upcast-attention, +upcast-matmul,
/// +upcast-conv, +flash and +no-flash: "fast", "f16+upcast-attention". Throws UsageError.
PolicyChoice parse_policy(const std::string& text);

/// The text of a policy as parse_policy takes it: its preset where it equals one, else "f16+flash".
std::string policy_text(const PolicyChoice& choice);

/// The options that name the policy of such a text, {"--precision", "f16", "--upcast-attention"}; also where
/// it has components one by one. Throws UsageError.
std::vector<std::string> policy_arguments(const std::string& text);

/// "f16+upcast-attention" where all components have one policy, else one by one.
std::string policy_text(const families::ComponentChoices& choices);

}  // namespace precast::cli
