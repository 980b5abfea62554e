// The output folder of a training run.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/train/train_options.hpp>
#include <fcntl.h>
#include <language_model/trainer.hpp>
#include <unistd.h>

#include <precast/io/find_weights.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/temporary_name.hpp>

namespace precast::cli {

inline constexpr const char* checkpoint_file = "checkpoint.safetensors";

/// The files of a sharded model as transformers writes it: the index and the shards. Shards are found by
/// their names, as in transformers, since an index may name any file.
inline std::vector<std::string> sharded_model_in(const std::filesystem::path& folder) {
  constexpr std::string_view shape = "model-00000-of-00000.safetensors";
  const auto fits = [](char c, char of) { return of == '0' ? c >= '0' && c <= '9' : c == of; };
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::string name = at->path().filename().string();
    if (name == "model.safetensors.index.json" || std::ranges::equal(name, shape, fits))
      names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

inline void remove_sharded_model(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const std::string& name : sharded_model_in(folder)) std::filesystem::remove(folder / name, ignored);
}

/// Writes the trained model to its folder, and then removes the shards of the model it began from.
inline void write_trained_model(const language_model::Trainer& trainer, const std::filesystem::path& folder) {
  trainer.write_model(folder);
  remove_sharded_model(folder);
}

/// Throws UsageError if --output is no folder's name, or its model or checkpoint would be overwritten.
inline void check_train_folder(const TrainOptions& options) {
  const std::filesystem::path folder = options.output;
  if (folder.empty() || is_standard_output(folder))
    throw UsageError("--output is '" + options.output + "': it takes the name of a folder");
  if (options.resume || options.overwrite) return;
  std::error_code ignored;
  std::vector<std::string> files{checkpoint_file, language_model::model_file};
  std::ranges::move(sharded_model_in(folder), std::back_inserter(files));
  for (const std::string& file : files)
    if (std::filesystem::exists(folder / file, ignored))
      throw UsageError("--output: " + io::shown(folder / file) + " already exists: " +
                       (file == checkpoint_file ? "continue from it with --resume, " : "") +
                       "train again and replace it with --overwrite, or name another folder");
}

/// The same for a config.json without them, such as next to weights in an unknown format. Accepts a
/// config.json with the same text and no weights, which a run leaves when it is killed while its first
/// checkpoint appears: there is nothing to resume, and the same command starts anew.
inline void check_config_of_folder(const TrainOptions& options, const std::string& text) {
  const std::filesystem::path folder = options.output, config = folder / "config.json";
  std::error_code ignored;
  if (options.resume || options.overwrite || !std::filesystem::exists(config, ignored) ||
      (io::MappedFile(config).text() == text && !io::find_weights(folder)))
    return;
  throw UsageError("--output: " + io::shown(config) +
                   " already exists: train again and replace it with --overwrite, or name another folder");
}

/// Creates a folder and its missing parents, and removes those that are still empty in the end. Holds a
/// lock on the folder: throws InputError if another run has it.
class OutputFolder {
 public:
  explicit OutputFolder(const std::filesystem::path& folder) {
    make_missing(folder);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);  // reports the error if one could not be created
    if (failed) {
      remove_made_folders();
      throw io::file_error(folder, "cannot be made: " + failed.message() + ": choose another place");
    }
    opened_ = io::FileDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened_.is_locked_by_another())
      throw io::file_error(folder,
                           "another run is writing there: wait until it ends, or name another folder");
    io::sweep_left_over_files(folder);  // temporary files of a killed run, as large as checkpoints
  }
  ~OutputFolder() { remove_made_folders(); }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  void make_missing(const std::filesystem::path& folder) {
    std::error_code ignored;
    if (folder.empty() ||
        std::filesystem::status(folder, ignored).type() != std::filesystem::file_type::not_found)
      return;
    make_missing(folder.parent_path());
    if (std::filesystem::create_directory(folder, ignored)) made_.push_back(folder);
  }
  void remove_made_folders() {
    // Fails, as it should, for a folder with files and for a file that has taken the name.
    for (; !made_.empty(); made_.pop_back()) static_cast<void>(::rmdir(made_.back().c_str()));
  }

  io::FileDescriptor opened_;
  std::vector<std::filesystem::path> made_;  ///< parents first
};

}  // namespace precast::cli
