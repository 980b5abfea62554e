// Shows files by their last path component, and compares them by inode.
#include <algorithm>

#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <families/file_of_weights.hpp>

#include <precast/io/component_source.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace fs = std::filesystem;

namespace {

/// Whether a folder is a model's or a component's. Other files next to components, such as earlier
/// pictures, are not the model's.
bool holds_config(const fs::path& folder) {
  std::error_code failed;
  for (const char* name : {"config.json", "scheduler_config.json", "tokenizer_config.json"})
    if (fs::exists(folder / name, failed)) return true;
  return false;
}

/// Whether an existing file is the folder's model_index.json, or in a folder with a config, there or in
/// those of components. Compares inodes, since a cache links to its files under other names.
bool is_in_model(const fs::path& file, const fs::path& folder) {
  std::error_code failed;
  const auto is_the_file = [&](const fs::path& other) {
    std::error_code differ;
    return fs::is_regular_file(other, differ) && fs::equivalent(file, other, differ);
  };
  const auto holds_the_file = [&](const fs::path& files) {
    std::error_code unread;
    fs::directory_iterator at(files, unread), end;
    for (; !unread && at != end; at.increment(unread))
      if (is_the_file(at->path())) return true;
    return false;
  };
  if (is_the_file(folder / "model_index.json") || (holds_config(folder) && holds_the_file(folder)))
    return true;
  fs::directory_iterator at(folder, failed), end;
  for (; !failed && at != end; at.increment(failed))
    if (fs::is_directory(at->path(), failed) && holds_config(at->path()) && holds_the_file(at->path()))
      return true;
  return false;
}

/// Whether an output is one of the files read: in a model's folder, in the folder around a model's file, or
/// one of the shards of weights.
bool belongs_to(const fs::path& output, const fs::path& input) {
  std::error_code failed;
  if (!fs::is_regular_file(output, failed)) return false;
  if (fs::is_directory(input, failed)) return is_in_model(output, input);
  const fs::path around = input.has_parent_path() ? input.parent_path() : ".";
  if (fs::exists(around / "model_index.json", failed) && is_in_model(output, around)) return true;
  try {
    return families::is_file_of(io::ComponentSource(input), output);
  } catch (const Error&) {
    return false;  // its reader reports the error
  }
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
