// The folder that a training run writes.
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

/// The names of the files of a model in several files, as transformers writes large ones: their index, and
/// the shards. Shards are told by their names, as transformers tells them: an index may name any file.
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

/// Writes the model that was trained into its folder. One in shards that it began from is there until then.
inline void write_trained_model(const language_model::Trainer& trainer, const std::filesystem::path& folder) {
  trainer.write_model(folder);
  remove_sharded_model(folder);
}

/// Throws UsageError for a folder whose model or checkpoint a run would write over, and for what is none.
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
      throw UsageError("--output: " + io::shown(folder / file) +
                       " is there: " + (file == checkpoint_file ? "go on from it with --resume, " : "") +
                       "train anew in its place with --overwrite, or name another folder");
}

/// The same where config.json is there without them. Of weights that are not read here, it alone would be
/// replaced. A run that was killed as its first checkpoint appeared left one with
/// this text, and there is nothing to go on from: the same command begins anew.
inline void check_config_of_folder(const TrainOptions& options, const std::string& text) {
  const std::filesystem::path folder = options.output, config = folder / "config.json";
  std::error_code ignored;
  if (options.resume || options.overwrite || !std::filesystem::exists(config, ignored) ||
      (io::MappedFile(config).text() == text && !io::find_weights(folder)))
    return;
  throw UsageError("--output: " + io::shown(config) +
                   " is there: train anew in its place with --overwrite, or name another folder");
}

/// A folder that is made where it is not there, with those above it, and taken away again where nothing came
/// into it. It is one run's for as long as this lives: throws InputError where another has it.
class OutputFolder {
 public:
  explicit OutputFolder(const std::filesystem::path& folder) {
    make_missing(folder);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);  // says why, where one could not be made
    if (failed) {
      take_away();
      throw io::file_error(folder, "cannot be made: " + failed.message() + ": choose another place");
    }
    opened_ = io::FileDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened_.is_locked_by_another())
      throw io::file_error(folder, "another run writes there: wait for its end, or name another folder");
    io::sweep_left_over_files(folder);  // a killed run's checkpoints, each as large as this one's
  }
  ~OutputFolder() { take_away(); }
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
  void take_away() {
    // One that has files stays, and so does a file that has its name by now.
    for (; !made_.empty(); made_.pop_back()) static_cast<void>(::rmdir(made_.back().c_str()));
  }

  io::FileDescriptor opened_;
  std::vector<std::filesystem::path> made_;  ///< a folder after those above it
};

}  // namespace precast::cli
