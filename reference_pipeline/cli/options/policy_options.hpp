// The options that select policies, and their resolution.
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
  std::string preset;  ///< "" if not given
  std::optional<Precision> precision;
  ChoiceOptions added;  ///< flash and casts, in addition to the preset's
  bool no_flash = false;
  std::optional<Precision> transformer, vae, text;  ///< of single components
  std::optional<Precision> clip, t5;                ///< of single text encoders; they override `text`

  /// Whether none of the options was given.
  bool empty() const;
  /// Whether the machine chooses the preset: with auto, or with neither preset nor precision. A precision
  /// without a preset is a plain policy, the same on every machine; with auto it replaces the precision of
  /// the preset that auto chooses.
  bool automatic() const;
};

/// Adds --preset, --precision, --upcast-attention, --upcast-matmul, --upcast-conv, --flash and --no-flash.
void add_policy_options(CLI::App& command, PolicyOptions& options);

/// Adds --transformer-precision (--unet-precision), --vae-precision, --text-precision, --clip-precision and
/// --t5-precision.
void add_component_options(CLI::App& command, PolicyOptions& options);

/// Throws UsageError if a precision is given for a text encoder that models of the family
/// lack.
void require_used(const PolicyOptions& options, const families::Family& family);

/// The precisions of this build's paths: "f32", "bf16".
std::vector<std::string_view> compiled_precisions();

/// "quality|fast|…|f16": the names that parse_policy accepts before any "+", in this build.
std::string policy_names();

/// The default policy for measuring: balanced if the build holds it, else its first
/// preset.
std::string usual_policy(std::span<const NamedPreset> compiled);

/// The policy of the options, with `chosen_by_auto` as the preset if they do not name one. Throws
/// UsageError for a combination of casts that is not a path.
PolicyChoice resolved(const PolicyOptions& options, const PolicyChoice& chosen_by_auto);

/// The policy of each component. Throws as `resolved` does.
families::ComponentChoices resolved_components(const PolicyOptions& options,
                                               const PolicyChoice& chosen_by_auto);

/// Parses a policy: a preset or a precision, then any of +upcast-attention, +upcast-matmul, +upcast-conv,
/// +flash and +no-flash: "fast", "f16+upcast-attention". Throws UsageError.
PolicyChoice parse_policy(const std::string& text);

/// The policies that comma-separated lists name; every preset of this build for none. Throws
/// UsageError.
std::vector<PolicyChoice> listed_policies(const std::vector<std::string>& lists);

/// The text of a policy for parse_policy: the preset it equals, else "f16+flash".
std::string policy_text(const PolicyChoice& choice);

/// The options for such a text, {"--precision", "f16", "--upcast-attention"}; also for a text that lists
/// the components one by one. Throws UsageError.
std::vector<std::string> policy_arguments(const std::string& text);

/// "f16+upcast-attention" if all components have one policy, else a list of the components' policies.
std::string policy_text(const families::ComponentChoices& choices);

}  // namespace precast::cli
