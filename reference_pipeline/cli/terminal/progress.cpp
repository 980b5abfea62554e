#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include <cli/terminal/format.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/progress.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include <precast/io/number_text.hpp>

namespace precast::cli {
namespace {

constexpr double redraw_seconds = 0.1;
constexpr double line_seconds = 10;
constexpr double worth_a_line = 1;            // shorter stages are left out of a log
constexpr std::int64_t longest_count = 9999;  // larger totals, such as bytes, are shown in per cent
constexpr std::size_t shortest_bar = 8, longest_bar = 24;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void discard(std::string_view) {}

std::string rate_text(double rate) {
  return rate >= 1 ? io::fixed(rate, 1) + "/s" : human_duration(1 / rate) + " each";
}

}  // namespace

ProgressStyle ProgressStyle::of_stderr() {
  ProgressStyle style;
  const char* kind = std::getenv("TERM");
  style.terminal = ::isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
  style.color = style.terminal && !is_set("NO_COLOR");
  winsize size{};
  if (style.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.columns = size.ws_col;
  return style;
}

ProgressReporter::ProgressReporter()
    : ProgressReporter(ProgressStyle::of_stderr(), quiet() ? discard : to_stderr, steady_seconds) {}

ProgressReporter::ProgressReporter(const ProgressStyle& style, Sink sink, Clock clock)
    : style_(style), sink_(std::move(sink)), clock_(std::move(clock)) {}

ProgressReporter::~ProgressReporter() { clear(); }

void ProgressReporter::update(std::string_view stage, std::int64_t done, std::int64_t total,
                              std::string_view note) {
  const double now = clock_();
  const bool over = total > 0 && done >= total;
  if (stage != stage_) {
    if (running_) end(now);
    start(stage, done, now);
  } else if (!running_) {
    if (over) return;  // reported twice
    start(stage, done, now);
  }
  if (over) return end(now);
  if (style_.terminal) {
    if (drawn_ && now - shown_ < redraw_seconds) return;
    sink_("\r" + line(done, total, now, note) + "\x1b[K");
    drawn_ = true;
    shown_ = now;
  } else if (now - shown_ >= line_seconds) {
    sink_(stage_ + ": " + numbers(done, total, now, " of ", note) + "\n");
    shown_ = now;
  }
}

void ProgressReporter::start(std::string_view stage, std::int64_t done, double now) {
  stage_ = stage;
  running_ = true;
  first_done_ = done;
  started_ = now;
  shown_ = now;
}

void ProgressReporter::end(double now) {
  running_ = false;
  clear();
  if (!style_.terminal && now - started_ >= worth_a_line)
    sink_(stage_ + ": done in " + human_duration(now - started_) + "\n");
}

void ProgressReporter::clear() {
  if (drawn_) sink_("\r\x1b[K");
  drawn_ = false;
}

std::string ProgressReporter::numbers(std::int64_t done, std::int64_t total, double now, std::string_view of,
                                      std::string_view note) const {
  const std::string gap = of == "/" ? "  " : ", ";
  const bool counts = total <= longest_count;
  std::string text = std::to_string(done);
  if (total > 0) {
    if (counts)
      text += std::string(of) + std::to_string(total);
    else
      text =
          std::to_string(static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total))) +
          "%";
  }
  const auto made = static_cast<double>(done - first_done_);
  if (made > 0 && now > started_) {
    const double rate = made / (now - started_);
    if (counts) text += gap + rate_text(rate);
    if (total > 0) text += gap + human_duration(static_cast<double>(total - done) / rate) + " left";
  }
  if (!note.empty()) text.append(gap).append(note);
  return text;
}

std::string ProgressReporter::line(std::int64_t done, std::int64_t total, double now,
                                   std::string_view note) const {
  const std::string right = numbers(done, total, now, "/", note);
  // The last column stays empty: some terminals wrap once it is filled.
  const auto room = static_cast<std::size_t>(std::max(style_.columns - 1, 1));
  const std::string plain = stage_ + "  " + right;
  constexpr std::size_t around = 4;  // brackets and spaces
  if (total <= 0 || plain.size() + around + shortest_bar > room) return plain.substr(0, room);
  const std::size_t length = std::min(longest_bar, room - plain.size() - around);
  const double part = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(length));
  std::string bar = std::string(filled, '#') + std::string(length - filled, '.');
  if (style_.color) bar = "\x1b[32m" + bar + "\x1b[0m";
  return stage_ + "  [" + bar + "]  " + right;
}

}  // namespace precast::cli
