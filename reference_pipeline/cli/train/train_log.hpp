// The log of precast train: one line of JSON per step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <language_model/trainer.hpp>

#include <precast/io/line_file.hpp>

namespace precast::cli {

/// A resumed run keeps the lines of earlier steps. Without a file name nothing is written.
class TrainLog {
 public:
  /// Throws InputError if the file is not a log of precast train, or cannot be written. Warns if the log of
  /// a resumed run lacks steps before `next_step`.
  TrainLog(const std::string& file, std::int64_t next_step);
  /// Appends a line for a step, with the policy if there is one.
  void write(const language_model::StepFacts& step, const std::string& policy = "");
  /// The same, but if the line cannot be written, calls `save_on_interrupt` as Ctrl-C would, appends its
  /// message to the log's InputError, and throws that.
  void write_or_leave(const language_model::StepFacts& step, const std::string& policy,
                      const std::function<std::string()>& save_on_interrupt);

 private:
  std::optional<io::LineFile> file_;
};

}  // namespace precast::cli
