// The log of precast train: a line of JSON a step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <language_model/trainer.hpp>

#include <precast/io/line_file.hpp>

namespace precast::cli {

/// A run that goes on keeps the lines of the steps before its own. Without a name nothing is written.
class TrainLog {
 public:
  /// Throws InputError where a file that is there is no log of precast train, or cannot be written. Says
  /// where one to go on with lacks steps before `next_step`.
  TrainLog(const std::string& file, std::int64_t next_step);
  /// With a policy the line says whose step it is.
  void write(const language_model::StepFacts& step, const std::string& policy = "");
  /// The same. Where the line cannot be written the run leaves behind what Ctrl-C would, which says what, and
  /// ends by the log's InputError.
  void write_or_leave(const language_model::StepFacts& step, const std::string& policy,
                      const std::function<std::string()>& leave_behind);

 private:
  std::optional<io::LineFile> file_;
};

}  // namespace precast::cli
