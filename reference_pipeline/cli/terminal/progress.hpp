// Progress on stderr: one line that is redrawn on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace precast::cli {

/// How progress can be shown.
struct ProgressStyle {
  bool terminal = false;  ///< a line can be drawn again
  bool color = false;
  int columns = 80;

  /// What stderr is: TERM=dumb is no terminal, and a NO_COLOR that is not empty takes the colour
  /// (no-color.org).
  static ProgressStyle of_stderr();
};

/// Shows how far the stages of a run are. On a terminal: stage, bar, count, rate and time left in one line,
/// at most ten times a second, wiped when all is done or the reporter is gone. Elsewhere: a line every ten
/// seconds, and one when a stage of a second or more is done. To be used from one thread.
class ProgressReporter {
 public:
  using Sink = std::function<void(std::string_view)>;
  using Clock = std::function<double()>;  ///< seconds since some moment

  /// Writes to stderr, or nowhere where the program is quiet.
  ProgressReporter();
  /// Writes to a function, by another clock.
  ProgressReporter(const ProgressStyle& style, Sink sink, Clock clock);
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;
  ~ProgressReporter();

  /// `done` of `total` units of a stage; a total below 1 is not known. A stage is over where `done` reaches
  /// `total`, or another stage begins. `note` ends the line: what the stage has come to, "loss 2.31".
  void update(std::string_view stage, std::int64_t done, std::int64_t total, std::string_view note = {});

  /// Wipes the line, for other text to take its place; the next update draws it anew.
  void wipe();

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
