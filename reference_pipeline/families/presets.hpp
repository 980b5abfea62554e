// The presets that this program knows: those that come with Precast, and those that a program adds; and
// names for choices of either kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <families/backend.hpp>

#include <precast/policy/presets.hpp>
#include <precast/policy/table_rows.hpp>

namespace precast::families {

/// A preset of a program's own: a policy of any kind, with the models that were compiled for it.
struct AddedPreset {
  std::string_view name, summary;
  std::string spelling;     ///< "Policy<Storage<e3m4>, Compute<bf16>, Flash>"
  std::vector<OpRow> rows;  ///< its op table
  GradientTable gradients;
  double bytes_per_value = 0;
  std::vector<FamilyModels> models{};  ///< for the CPU
  PolicyChoice choice{};  ///< stands for the preset; its precision is from first_added_precision on
};

/// Adds a preset for as long as this lives; PresetRegistration (families/preset_registration.hpp) makes one
/// of a policy. Throws Error for a name that is taken.
class PresetAddition {
 public:
  explicit PresetAddition(AddedPreset preset);
  ~PresetAddition();
  PresetAddition(const PresetAddition&) = delete;
  PresetAddition& operator=(const PresetAddition&) = delete;

 private:
  std::string_view name_;
};

/// All presets, Precast's first.
std::vector<NamedPreset> all_presets();
/// The presets that this build can run.
std::vector<NamedPreset> compiled_presets();
/// The preset to try where memory is short: the last of Precast's presets that this build can run whose
/// parameters take least memory; nothing where all take the same.
std::optional<NamedPreset> smallest_preset();
/// The preset of that name, or nothing.
std::optional<NamedPreset> find_preset(std::string_view name);

/// The added preset that a choice stands for, or nullptr where it names a path of Precast's.
const AddedPreset* added_preset(const PolicyChoice& choice);

/// Throws PathNotCompiled, which says what to do, for a choice that this program cannot run: by
/// require_path for Precast's presets; an added preset has only its own choice, without further casts.
void require_policy(const PolicyChoice& choice);

/// The C++ spelling of a choice.
std::string spelling(const PolicyChoice& choice);
/// "bf16"; for a choice that stands for an added preset, that preset's name.
std::string_view precision_name(const PolicyChoice& choice);
/// Bytes that a stored parameter takes under a choice, shares of blocks' scales included.
double bytes_per_value(const PolicyChoice& choice);

}  // namespace precast::families
