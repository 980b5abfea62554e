// Reads prompts line by line.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <istream>
#include <streambuf>
#include <utility>

#include <cli/options/arguments.hpp>
#include <cli/options/prompts.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

constexpr std::size_t most_prompts = 1024, longest_prompt = std::size_t{1} << 20;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Reads from a descriptor, interruptibly. Waits in poll, which signals do not restart, and with a timeout,
/// since a signal may arrive between the check of the flag and the wait.
class InterruptibleInput : public std::streambuf {
 public:
  InterruptibleInput(int descriptor, std::string name, std::string remedy)
      : descriptor_(descriptor), name_(std::move(name)), remedy_(std::move(remedy)) {}

 protected:
  int_type underflow() override {
    constexpr int milliseconds = 100;
    pollfd input{descriptor_, POLLIN, 0};
    ssize_t count = -1;
    do {
      throw_if_interrupted();
      const int ready = ::poll(&input, 1, milliseconds);
      if (ready == 0) continue;
      if (ready > 0) count = ::read(descriptor_, bytes_.data(), bytes_.size());
      if (count < 0 && errno != EINTR && errno != EAGAIN)
        throw io::system_error(name_, "could not be read", errno, remedy_);
    } while (count < 0);
    if (count == 0) return traits_type::eof();
    setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
    return traits_type::to_int_type(bytes_.front());
  }

 private:
  int descriptor_;
  std::string name_, remedy_;
  std::array<char, 4096> bytes_{};
};

std::vector<std::string> of_descriptor(int descriptor, const std::string& name, const std::string& remedy) {
  InterruptibleInput input(descriptor, name, remedy);
  std::istream stream(&input);
  stream.exceptions(std::ios::badbit);  // exceptions of the input propagate through the stream
  return prompts_in(stream, io::shown(name));
}

std::vector<std::string> standard_input() {
  if (::isatty(STDIN_FILENO)) notes() << "prompts, one a line; Ctrl-D ends them\n";
  return of_descriptor(STDIN_FILENO, "standard input", "give text, a prompt on each line");
}

std::vector<std::string> in_file(const std::string& name) {
  const std::string remedy = "name a file with a prompt on each line";
  // Without O_NONBLOCK, open() would wait for the writer of a named pipe, and no signal would end it.
  const io::FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) throw io::system_error(name, "could not be read", errno, remedy);
  return of_descriptor(file.get(), name, remedy);
}

}  // namespace

std::vector<std::string> prompts_in(std::istream& file, const std::string& name) {
  std::vector<std::string> prompts;
  std::string line;
  const auto add = [&] {
    if (prompts.empty() && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) prompts.push_back(line);
    line.clear();
    if (prompts.size() > most_prompts)
      throw InputError(name + ": holds more than " + std::to_string(most_prompts) +
                       " prompts, the most in one run: split it");
  };
  for (char c = 0; file.get(c);) {
    if (c == '\0') throw InputError(name + ": holds zero bytes, as UTF-16 has them: save it as UTF-8 text");
    if (c == '\n')
      add();
    else if (line.push_back(c); line.size() > longest_prompt)
      throw InputError(name + ": has a line of more than a MiB: give a text file with a prompt on each line");
  }
  throw_if_interrupted();  // Ctrl-C ends the pipe's writer as well: its end is not the end of the prompts
  if (file.bad()) throw InputError(name + ": could not be read to its end: give a text file");
  add();
  if (prompts.empty()) throw InputError(name + ": holds no prompt: write one on each line");
  return prompts;
}

std::vector<std::string> read_prompts(const std::vector<std::string>& given,
                                      const std::optional<std::string>& file) {
  std::vector<std::string> prompts;
  if (std::count(given.begin(), given.end(), "-") + (file == "-" ? 1 : 0) > 1)
    throw UsageError("standard input is named twice: its prompts are read once");
  const auto append = [&](std::vector<std::string> more) {
    prompts.insert(prompts.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (const std::string& text : given) append(text == "-" ? standard_input() : std::vector{text});
  if (file && file->empty())
    throw UsageError("--prompts-file is empty: name a file, or - for standard input");
  if (file) append(*file == "-" ? standard_input() : in_file(*file));
  if (prompts.empty())
    throw UsageError("--prompt is required: say what to paint, --prompt \"a lighthouse in fog\"");
  return prompts;
}

}  // namespace precast::cli
