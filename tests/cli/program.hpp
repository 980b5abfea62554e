// Runs the built program as a user would, and keeps what it said.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace program {

struct Outcome {
  int code = -1;
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
  /// Whether stderr is one line that begins as errors do.
  bool one_line_error() const {
    return err.starts_with("precast: error: ") && err.ends_with('\n') &&
           std::count(err.begin(), err.end(), '\n') == 1;
  }
};

/// A folder of its own that is gone with it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "precast-cli-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no scratch folder");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// A file in it that holds this text; gives its path.
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

inline std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What each line of a file says in JSON.
inline std::vector<nlohmann::json> json_lines(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(content(file));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

inline std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Runs the program; `environment` goes in front of it, `redirection` behind.
inline Outcome run(const std::vector<std::string>& arguments, const std::string& environment = "",
                   const std::string& redirection = "") {
  const Scratch scratch;
  const std::string err = quoted((scratch.path() / "err").string());
  std::string line = "err=" + err + "; " + environment + " " + quoted(PRECAST_PROGRAM);
  for (const std::string& argument : arguments) line += " " + quoted(argument);
  line += " >" + quoted((scratch.path() / "out").string()) + " 2>" + err + " </dev/null " + redirection;
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(scratch.path() / "out"),
          content(scratch.path() / "err")};
}

/// A shell without job control has its background programs ignore SIGINT, and so would precast.
inline const std::string heard = "env --default-signal=INT,TERM,HUP";

/// Runs the program, sends it one signal as soon as the shell's `condition` holds ("$err" names the file of
/// its stderr), and waits for its end. No fixed time: on a slow machine it may not have begun by then.
inline Outcome run_until(const std::string& condition, const std::string& signal,
                         const std::vector<std::string>& arguments) {
  return run(arguments, heard,
             "& p=$!; until " + condition + "; do kill -0 $p 2>/dev/null || break; sleep 0.02; done; kill -" +
                 signal + " $p 2>/dev/null; wait $p");
}

/// The condition of `run_until` that the program has said this.
inline std::string said(const std::string& text) { return "grep -qs " + quoted(text) + " \"$err\""; }
/// The condition of `run_until` that there is such a file or folder.
inline std::string exists(const std::filesystem::path& path) {
  return "[ -e " + quoted(path.string()) + " ]";
}
/// The condition of `run_until` that the folder holds so many files, hidden ones too.
inline std::string files_in(const std::filesystem::path& folder, int count) {
  return "[ $(ls -A " + quoted(folder.string()) + " | wc -l) -ge " + std::to_string(count) + " ]";
}

}  // namespace program
