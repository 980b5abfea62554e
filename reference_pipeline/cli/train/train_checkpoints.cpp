#include <algorithm>
#include <memory>
#include <system_error>

#include <cli/train/train_checkpoints.hpp>
#include <cli/train/train_folder.hpp>
#include <cli/train/train_tokenizer_files.hpp>
#include <unistd.h>

#include <precast/error.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/mapped_file.hpp>

namespace precast::cli {

namespace {

/// The names of the tokenizer's files and the generation config that transformers writes in a model's
/// folder.
std::vector<std::string> files_beside(const std::filesystem::path& model) {
  constexpr const char* generation = "generation_config.json";
  std::vector<std::string> names = tokenizer_files_in(model);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(model / generation, ignored)) names.emplace_back(generation);
  return names;
}

/// The names and contents of those files in the initial model's folder, which the output gets as well.
/// Nothing if the output is that folder: its files stay as they are.
std::optional<std::vector<std::pair<std::string, std::string>>> tokenizer_beside(
    const std::filesystem::path& model, const std::filesystem::path& output) {
  std::vector<std::pair<std::string, std::string>> files;
  std::error_code ignored;
  if (model.empty()) return files;
  if (std::filesystem::equivalent(model, output, ignored)) return std::nullopt;
  for (const std::string& name : files_beside(model))
    files.emplace_back(name, io::MappedFile(model / name).text());
  return files;
}

std::string resumes_from(std::int64_t step) {
  return "--resume continues from the checkpoint of step " + std::to_string(step);
}

}  // namespace

Checkpoints::Checkpoints(const language_model::Trainer& trainer, const TrainInputs& inputs,
                         std::string settings, const TrainOptions& options, bool writes)
    : trainer_(trainer),
      inputs_(inputs),
      settings_(std::move(settings)),
      folder_(options.output),
      every_(options.checkpoint_interval()),
      first_step_(trainer.next_step()),
      kept_step_(first_step_),
      writes_(writes),
      is_described_(options.resume),
      overwrites_(options.overwrite) {
  if (writes && !options.resume) tokenizer_files_ = tokenizer_beside(options.model, folder_);
}

void Checkpoints::after_step() {
  if (trainer_.next_step() % every_ == 0 || trainer_.done()) write();
}

std::string Checkpoints::save_on_interrupt() {
  if (trainer_.next_step() > first_step_) write();
  return is_described_ ? resumes_from(trainer_.next_step()) : "nothing was written";
}

void Checkpoints::write() {
  if (!writes_) return;
  try {
    write_now();
    kept_step_ = trainer_.next_step();
  } catch (const InputError& failed) {
    if (!is_described_) throw;
    throw InputError(std::string(failed.what()) + "; " + resumes_from(kept_step_));
  }
}

void Checkpoints::write_now() {
  const std::filesystem::path checkpoint = folder_ / checkpoint_file;
  if (is_described_) return trainer_.write_checkpoint(checkpoint, settings_);
  std::optional<OutputFolder> templates;  // destroyed after `files`: removed if none is in it
  std::vector<std::unique_ptr<io::AtomicFile>> files;
  const auto describe = [&](const std::string& name, const std::string& text) {
    files.push_back(std::make_unique<io::AtomicFile>(folder_ / name));
    files.back()->write(text);
  };
  describe("config.json", inputs_.config.json());
  if (inputs_.tokenizer) describe(tokenizer_file, inputs_.tokenizer->json());
  if (tokenizer_files_)
    for (const auto& [name, text] : *tokenizer_files_) {
      if (!templates && name.starts_with(folder_of_templates))
        templates.emplace(folder_ / folder_of_templates);
      describe(name, text);
    }
  // A full disk fails before the first commit; and a run killed between the commits leaves no checkpoint
  // without its config.
  trainer_.write_checkpoint(checkpoint, settings_, [&] {
    remove_other_model();
    for (const auto& file : files) file->commit();
  });
  is_described_ = true;
}

/// Removes the previous model, whose weights would otherwise be read with the new config, and those of its
/// tokenizer's files that the new model lacks.
void Checkpoints::remove_other_model() const {
  std::error_code ignored;
  if (!inputs_.tokenizer) std::filesystem::remove(folder_ / tokenizer_file, ignored);
  if (!overwrites_ || !tokenizer_files_) return;
  for (const char* name : {checkpoint_file, language_model::model_file})
    std::filesystem::remove(folder_ / name, ignored);
  remove_sharded_model(folder_);
  for (const std::string& name : files_beside(folder_))
    if (std::ranges::find(*tokenizer_files_, name, &std::pair<std::string, std::string>::first) ==
        tokenizer_files_->end())
      std::filesystem::remove(folder_ / name, ignored);
  ::rmdir((folder_ / folder_of_templates).c_str());  // fails unless it is empty
}

}  // namespace precast::cli
