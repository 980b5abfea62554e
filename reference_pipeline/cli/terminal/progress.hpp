// Progress on stderr: one redrawn line on a terminal, separate lines elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace precast::cli {

/// How progress can be shown.
struct ProgressStyle {
  bool terminal = false;  ///< whether a line can be redrawn
  bool color = false;
  int columns = 80;

  /// The style of stderr: TERM=dumb is not a terminal, and a non-empty NO_COLOR disables colour
  /// (no-color.org).
  static ProgressStyle of_stderr();
};

/// Shows the progress of a run's stages. On a terminal: stage, bar, count, rate and time left in one line,
/// at most ten times a second, cleared at the end or by the destructor. Elsewhere: a line every ten seconds,
/// and one at the end of a stage of a second or more. Not thread-safe.
class ProgressReporter {
 public:
  using Sink = std::function<void(std::string_view)>;
  using Clock = std::function<double()>;  ///< seconds since an arbitrary epoch

  /// Writes to stderr, or nowhere if the program is quiet.
  ProgressReporter();
  /// Writes to `sink`, and reads the time from `clock`.
  ProgressReporter(const ProgressStyle& style, Sink sink, Clock clock);
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;
  ~ProgressReporter();

  /// Reports `done` of `total` units of a stage; a total below 1 is unknown. A stage ends when `done`
  /// reaches `total`, or another stage begins. `note` ends the line: a result so far, "loss 2.31".
  void update(std::string_view stage, std::int64_t done, std::int64_t total, std::string_view note = {});

  /// Clears the line, so that other text can be written; the next update redraws it.
  void clear();

 private:
  void start(std::string_view stage, std::int64_t done, double now);
  void end(double now);
  std::string numbers(std::int64_t done, std::int64_t total, double now, std::string_view of,
                      std::string_view note) const;
  std::string line(std::int64_t done, std::int64_t total, double now, std::string_view note) const;

  ProgressStyle style_;
  Sink sink_;
  Clock clock_;
  std::string stage_;
  bool running_ = false;
  bool drawn_ = false;
  std::int64_t first_done_ = 0;
  double started_ = 0;
  double shown_ = 0;
};

}  // namespace precast::cli
