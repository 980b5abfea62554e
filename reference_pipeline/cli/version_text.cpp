#include <algorithm>
#include <vector>

#include <cli/options/arguments.hpp>
#include <cli/version_text.hpp>
#include <families/presets.hpp>

#include <precast/policy/paths.hpp>
#include <precast/policy/presets.hpp>
#include <precast/policy/visit.hpp>

namespace precast::cli {

namespace {

std::string& commit() {
  static std::string of_the_program;
  return of_the_program;
}

}  // namespace

void set_commit(const std::string& text) { commit() = text; }

std::string version_text() {
  std::vector<std::string> presets, precisions;
  for (const NamedPreset& preset : families::compiled_presets()) presets.emplace_back(preset.name);
  for_each_path([&](auto path) {
    const std::string name(to_string(decltype(path)::choice.precision));
    if (std::ranges::find(precisions, name) == precisions.end()) precisions.push_back(name);
  });
  std::string text = "precast " PRECAST_VERSION;
  if (!commit().empty()) text += " (commit " + commit() + ")";
  text += "\npresets: " + (presets.empty() ? "none" : listed(presets, "and"));
  text += "\nprecisions: " + listed(precisions, "and");
  const std::string architectures = PRECAST_CUDA_COMPILED_FOR;
  text += architectures.empty() ? "\nCUDA: not in this build" : "\nCUDA: for sm_" + architectures;
  return text;
}

}  // namespace precast::cli
