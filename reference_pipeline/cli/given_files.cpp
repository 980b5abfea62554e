// Names files by their last part, and tells them apart by what the system says.
#include <cli/arguments.hpp>
#include <cli/given_files.hpp>
#include <cli/model_path.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace fs = std::filesystem;

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
}

}  // namespace precast::cli
