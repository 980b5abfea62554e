// What a browser makes of a page.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace program {

inline bool has_browser() { return std::system("command -v chromium >/dev/null 2>&1") == 0; }
inline constexpr auto no_browser =
    "chromium is not installed (414 MB with what it needs: apt-get install chromium)";

/// What a browser makes of a page after its scripts.
inline std::string rendered(const std::filesystem::path& page, const std::string& options) {
  const Scratch scratch;
  const std::string out = (scratch.path() / "dom").string();
  const std::string line = "HOME=" + quoted(scratch.path().string()) +
                           " timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir=" +
                           quoted((scratch.path() / "profile").string()) + " " + options + " " +
                           quoted("file://" + page.string()) + " >" + quoted(out) + " 2>/dev/null";
  if (std::system(line.c_str()) != 0) throw std::runtime_error("the browser failed: " + line);
  return content(out);
}

/// How often a text holds another one.
inline std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace program
