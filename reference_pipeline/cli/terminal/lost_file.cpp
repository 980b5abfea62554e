// Reports which mapped file a read failed in. All of it runs in a signal handler, and allocates nothing.
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string_view>

#include <cli/terminal/lost_file.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace precast::cli {

namespace {

void say(std::string_view text) { static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size())); }

/// Reads a file line by line. Lines that do not fit are truncated.
class PlainLines {
 public:
  explicit PlainLines(const char* file) : file_(::open(file, O_RDONLY | O_CLOEXEC)) {}
  PlainLines(const PlainLines&) = delete;
  PlainLines& operator=(const PlainLines&) = delete;
  ~PlainLines() {
    if (file_ >= 0) ::close(file_);
  }

  bool next() {
    length_ = 0;
    for (char c = 0; read(c);) {
      if (c == '\n') return true;
      if (length_ < line_.size()) line_[length_++] = c;
    }
    return length_ > 0;
  }
  std::string_view line() const { return {line_.data(), length_}; }

 private:
  bool read(char& c) {
    if (at_ == count_) {
      const ssize_t count = file_ < 0 ? 0 : ::read(file_, bytes_.data(), bytes_.size());
      if (count <= 0) return false;
      at_ = 0;
      count_ = static_cast<std::size_t>(count);
    }
    c = bytes_[at_++];
    return true;
  }

  int file_;
  std::array<char, 4096> bytes_{}, line_{};
  std::size_t at_ = 0, count_ = 0, length_ = 0;
};

/// Whether a line of /proc/self/maps, "5f00-6f00 r--p …", describes the mapping with this address.
bool holds(std::string_view line, std::uintptr_t address) {
  std::uintptr_t first = 0, end = 0;
  const char* const stop = line.data() + line.size();
  const auto [dash, wrong] = std::from_chars(line.data(), stop, first, 16);
  if (wrong != std::errc{} || dash == stop) return false;
  return std::from_chars(dash + 1, stop, end, 16).ec == std::errc{} && address >= first && address < end;
}

std::atomic_flag is_reported = ATOMIC_FLAG_INIT;

void on_bus_error(int, siginfo_t* facts, void*) {
  while (is_reported.test_and_set()) ::pause();  // another thread is reporting and ends the program
  const auto address = reinterpret_cast<std::uintptr_t>(facts->si_addr);
  PlainLines maps("/proc/self/maps");
  while (maps.next()) {
    const std::string_view line = maps.line();
    const std::size_t path = line.find('/');
    if (!holds(line, address) || path == std::string_view::npos) continue;
    say("precast: error: ");
    say(line.substr(path));
    say(": could not be read to its end: it became shorter while it was read, or its disk failed: get it "
        "again\n");
    ::_exit(1);
  }
  std::signal(SIGBUS, SIG_DFL);  // not a mapped file: restore the default action
  static_cast<void>(std::raise(SIGBUS));
}

}  // namespace

void handle_lost_files() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace precast::cli
