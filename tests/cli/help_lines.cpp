// Text in lines that fit a terminal.
#include <cstdlib>
#include <sstream>

#include <catch2/catch.hpp>
#include <cli/options/prompts.hpp>
#include <cli/terminal/wrap.hpp>

#include <precast/error.hpp>

using namespace precast::cli;
using Lines = std::vector<std::string>;

TEST_CASE("text breaks at spaces and bars, and at nothing else") {
  CHECK(wrapped("one two three", 7) == Lines{"one two", "three"});
  CHECK(wrapped("one two three", 13) == Lines{"one two three"});
  CHECK(wrapped("one\ntwo", 80) == Lines{"one two"});
  CHECK(wrapped("a|bb|ccc", 5) == Lines{"a|bb|", "ccc"});
  CHECK(wrapped("incomprehensible word", 4) == Lines{"inco", "mpre", "hens", "ible", "word"});
  CHECK(wrapped("a …………… b", 4) == Lines{"a", "…………", "… b"});
  CHECK(wrapped("… … …", 3) == Lines{"… …", "…"});  // characters, not bytes
  CHECK(wrapped("", 10) == Lines{""});
}

TEST_CASE("a command in several lines is one command to a shell") {
  const std::string command = "  precast generate --prompt \"a b c d\" --steps 20";
  CHECK(wrapped_command(command, 80) == Lines{command});
  CHECK(wrapped_command(command, 36) ==
        Lines{"  precast generate --prompt \\", "      \"a b c d\" --steps 20"});
  CHECK(wrapped_command("  echo something long   # why it is", 24) ==
        Lines{"  # why it is", "  echo something long"});
  CHECK(wrapped_command("  echo something long   # why it is so", 18) ==
        Lines{"  # why it is so", "  echo something \\", "      long"});
  CHECK(wrapped_command("  echo something long   # why it is so", 16) ==
        Lines{"  # why it is", "  # so", "  echo \\", "      something \\", "      long"});
}

TEST_CASE("prompts of a file are its lines") {
  const auto prompts = [](const std::string& text) {
    std::istringstream file(text);
    return prompts_in(file, "a file");
  };
  CHECK(prompts("a star\na ring") == Lines{"a star", "a ring"});
  CHECK(prompts("\xef\xbb\xbf"
                "a star\r\n\r\n  \n- a ring \n") == Lines{"a star", "- a ring "});
  for (const std::string text : {"", "\n\n", "  \r\n"})
    CHECK_THROWS_WITH(prompts(text), Catch::Contains("a file: holds no prompt"));
  std::string many;
  for (int i = 0; i < 1025; ++i) many += "p\n";
  CHECK_THROWS_WITH(prompts(many), Catch::Contains("more than 1024 prompts"));
  CHECK(prompts(many.substr(2)).size() == 1024);
  CHECK_THROWS_WITH(prompts(std::string(3 << 20, 'x')), Catch::Contains("more than a MiB"));
  CHECK_THROWS_WITH(prompts(std::string("\xff\xfe"
                                        "a\0\n\0",
                                        6)),
                    Catch::Contains("save it as UTF-8"));
}
