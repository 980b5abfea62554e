#include <string_view>
#include <type_traits>
#include <vector>

#include <cli/options/arguments.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/version_text.hpp>
#include <families/presets.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/presets.hpp>
#include <precast/policy/quant_formats.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::cli {

namespace {

std::string& commit() {
  static std::string of_the_program;
  return of_the_program;
}

std::string in_build(const std::string& title, const std::string& what) {
  return "\n" + title + ": " + (what.empty() ? "not in this build" : what);
}

std::string line(const std::string& title, const std::vector<std::string>& names) {
  return "\n" + title + ": " + (names.empty() ? "none" : listed(names, "and"));
}

}  // namespace

void set_commit(const std::string& text) { commit() = text; }

std::string version_text() {
  std::vector<std::string> presets, formats;
  for (const NamedPreset& preset : families::compiled_presets()) presets.emplace_back(preset.name);
  const std::vector<std::string_view> names = compiled_precisions();
  const std::vector<std::string> precisions(names.begin(), names.end());
  for (const BlockFormat& format : block_formats)
    if (block_format_compiled(format.info.name)) formats.emplace_back(format.info.name);
  any_scaled_row_dtype([&]<class Format>(std::type_identity<Format>) {
    if (const std::string_view name = dtype_traits<Format>::name; block_format_compiled(name))
      formats.emplace_back(name);
    return false;
  });
  std::string text = "precast " PRECAST_VERSION;
  if (!commit().empty()) text += " (commit " + commit() + ")";
  text += line("presets", presets) + line("precisions", precisions) + line("block formats", formats);
  text += in_build("training", PRECAST_TRAINING_POLICIES);
  text += in_build("watching ops", watch::compiled ? "compiled" : "");
  text += in_build("CUDA", PRECAST_CUDA_COMPILED_FOR);
  return text;
}

}  // namespace precast::cli
