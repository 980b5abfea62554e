// Names files by their last part, and tells them apart by what the system says.
#include <algorithm>

#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace fs = std::filesystem;

namespace {

/// Whether a file that is there is one of a model's folder: an index of its own, or of a component's folder.
/// What else lies beside the components, such as pictures that were made before, is not the model's.
bool belongs_to(const fs::path& file, const fs::path& folder) {
  std::error_code failed;
  if (!fs::is_regular_file(file, failed) || !fs::is_directory(folder, failed)) return false;
  const fs::path whole = fs::canonical(file, failed), model = fs::canonical(folder, failed);
  if (failed) return false;
  if (whole.filename() == "model_index.json" || fs::exists(whole.parent_path() / "config.json", failed) ||
      fs::exists(whole.parent_path() / "scheduler_config.json", failed) ||
      fs::exists(whole.parent_path() / "tokenizer_config.json", failed)) {
    const auto [end_of_model, unused] = std::mismatch(model.begin(), model.end(), whole.begin(), whole.end());
    return end_of_model == model.end();
  }
  return false;
}

}  // namespace

std::string given_name(const fs::path& path) {
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  std::error_code ignored;
  return io::printable(fs::is_directory(whole, ignored)
                           ? (whole.parent_path().filename() / whole.filename()).string()
                           : whole.filename().string());
}

std::vector<std::pair<std::string, std::string>> given_files(const families::ModelFiles& model) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const GivenPart& part : given_parts)
    if (const auto given = model.components.find(part.component); given != model.components.end())
      files.emplace_back(part.label, given_name(given->second));
  return files;
}

std::string cast_model_name(const families::ModelFiles& model, const std::optional<std::string>& named) {
  const std::string name = model_name(model.model, named);
  const auto given = model.components.find("transformer");
  return given == model.components.end() ? name : name + ", transformer from " + given_name(given->second);
}

void check_inputs_stay(std::span<const fs::path> outputs, std::span<const fs::path> inputs) {
  std::error_code ignored;
  for (const fs::path& output : outputs)
    for (const fs::path& input : inputs)
      if (fs::is_regular_file(output, ignored) && fs::equivalent(output, input, ignored))
        throw UsageError(io::shown(output) +
                         " is read by this command, and would be replaced: give its "
                         "output another name");
}

void check_inputs_stay(std::span<const fs::path> outputs, const families::ModelFiles& model) {
  std::vector<fs::path> inputs{model.model};
  for (const auto& [component, path] : model.components) inputs.push_back(path);
  check_inputs_stay(outputs, inputs);
  for (const fs::path& output : outputs)
    for (const fs::path& input : inputs)
      if (belongs_to(output, input))
        throw UsageError(io::shown(output) +
                         " is a file of the model, which is read by this command: give its output another "
                         "name");
}

}  // namespace precast::cli
