// Progress on a terminal and in a log, by a clock that the test turns; and numbers for people.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/progress.hpp>

using precast::cli::four_digits;
using precast::cli::human_duration;
using precast::cli::ProgressReporter;
using precast::cli::ProgressStyle;

namespace {

/// What a reporter wrote, piece by piece.
struct Recording {
  double now = 100;
  std::vector<std::string> pieces;
  ProgressReporter reporter;

  explicit Recording(const ProgressStyle& style)
      : reporter(
            style, [this](std::string_view text) { pieces.emplace_back(text); }, [this] { return now; }) {}
  std::string all() const {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
  }
};

const ProgressStyle plain{false, false, 80};
const ProgressStyle terminal{true, false, 80};
const std::string cleared = "\r\x1b[K";

}  // namespace

TEST_CASE("a log has a line every ten seconds, and one for a stage's end") {
  Recording recording(plain);
  for (int step = 0; step <= 20; ++step, recording.now += 1.5) recording.reporter.update("denoise", step, 20);
  CHECK(recording.all() ==
        "denoise: 7 of 20, 1.5 s each, 20 s left\n"
        "denoise: 14 of 20, 1.5 s each, 9.0 s left\n"
        "denoise: done in 30 s\n");
}

TEST_CASE("stages follow one another, the end said twice shows once, and stages under a second do not") {
  Recording recording(plain);
  recording.reporter.update("load", 0, 0);
  recording.reporter.update("load", 5, 0);
  recording.now += 2;
  recording.reporter.update("decode", 1, 1);
  recording.reporter.update("decode", 1, 1);
  recording.reporter.update("decode", 0, 1);
  recording.now += 1.25;
  recording.reporter.update("decode", 1, 1);
  CHECK(recording.all() ==
        "load: done in 2.0 s\n"
        "decode: done in 1.2 s\n");
}

TEST_CASE("a terminal has one line with bar, count, rate and time left") {
  Recording recording(terminal);
  recording.reporter.update("denoise", 0, 8);
  recording.now += 1;
  recording.reporter.update("denoise", 4, 8);
  REQUIRE(recording.pieces.size() == 2);
  CHECK(recording.pieces[0] == "\rdenoise  [........................]  0/8\x1b[K");
  CHECK(recording.pieces[1] == "\rdenoise  [############............]  4/8  4.0/s  1.0 s left\x1b[K");
  recording.now += 1;
  recording.reporter.update("denoise", 8, 8);
  REQUIRE(recording.pieces.size() == 3);
  CHECK(recording.pieces[2] == cleared);
}

TEST_CASE("a note of what a stage has come to ends its line") {
  Recording recording(terminal);
  recording.reporter.update("train", 0, 8, "loss 3.2");
  recording.now += 1;
  recording.reporter.update("train", 4, 8, "loss 2.1");
  REQUIRE(recording.pieces.size() == 2);
  CHECK(recording.pieces[0] == "\rtrain  [........................]  0/8  loss 3.2\x1b[K");
  CHECK(recording.pieces[1] == "\rtrain  [############............]  4/8  4.0/s  1.0 s left  loss 2.1\x1b[K");
}

TEST_CASE("a bar is as long as the line leaves room for") {
  const auto bar_in = [](int columns) {
    Recording recording(ProgressStyle{true, false, columns});
    recording.reporter.update("train", 1, 8, "loss 3");
    const std::string& line = recording.pieces.front();
    return std::ranges::count_if(line.substr(0, line.find(']')), [](char c) { return c == '#' || c == '.'; });
  };
  CHECK(bar_in(80) == 24);
  CHECK(bar_in(47) == 24);
  CHECK(bar_in(46) == 23);
  CHECK(bar_in(31) == 8);
  CHECK(bar_in(30) == 0);
}

TEST_CASE("a terminal is drawn on at most ten times a second") {
  Recording recording(terminal);
  for (int i = 0; i < 1000; ++i, recording.now += 0.001) recording.reporter.update("load", i, 1001);
  CHECK(recording.pieces.size() >= 9);
  CHECK(recording.pieces.size() <= 11);
}

TEST_CASE("a reporter that ends early leaves a clean line") {
  std::string text;
  {
    ProgressReporter reporter(
        terminal, [&](std::string_view piece) { text += piece; }, [] { return 1.0; });
    reporter.update("denoise", 1, 4);
    CHECK_FALSE(text.ends_with(cleared));
    reporter.clear();
    CHECK(text.ends_with(cleared));
    reporter.update("denoise", 2, 4);
    CHECK_FALSE(text.ends_with(cleared));
  }
  CHECK(text.ends_with(cleared));
}

TEST_CASE("bytes show as a percentage, and a total that is not known as a count") {
  Recording recording(terminal);
  recording.reporter.update("load", 0, 1 << 30);
  recording.now += 1;
  recording.reporter.update("load", 1 << 29, 1 << 30);
  CHECK(recording.pieces.back().find("]  50%  1.0 s left") != std::string::npos);
  recording.now += 1;
  recording.reporter.update("search", 7, 0);
  CHECK(recording.pieces.back() == "\rsearch  7\x1b[K");
}

TEST_CASE("no line is wider than the terminal, and colour is only where it is wanted") {
  for (const int columns : {1, 5, 20, 40, 60, 80, 200}) {
    Recording recording(ProgressStyle{true, false, columns});
    recording.reporter.update("a stage with a rather long name", 3, 900);
    recording.now += 1;
    recording.reporter.update("a stage with a rather long name", 4, 900);
    for (const std::string& piece : recording.pieces)
      CHECK(static_cast<int>(piece.size() - cleared.size()) <= std::max(columns - 1, 1));
  }
  Recording colored(ProgressStyle{true, true, 80});
  colored.reporter.update("denoise", 1, 4);
  CHECK(colored.all().find("\x1b[32m######") != std::string::npos);
}

TEST_CASE("values read in four digits, or in all of those before their point") {
  CHECK(four_digits(2.31249) == "2.312");
  CHECK(four_digits(1e-6) == "1e-06");
  CHECK(four_digits(9999.4) == "9999");
  CHECK(four_digits(9999.6) == "10000");
  CHECK(four_digits(-65536) == "-65536");
  CHECK(four_digits(16777216) == "16777216");
  CHECK(four_digits(1e9) == "1e+09");
  CHECK(four_digits(0) == "0");
  CHECK(four_digits(-std::nan("")) == "NaN");
  CHECK(four_digits(-INFINITY) == "-inf");
}

TEST_CASE("durations read well at every length") {
  CHECK(human_duration(0) == "0.00 s");
  CHECK(human_duration(0.424) == "0.42 s");
  CHECK(human_duration(0.996) == "1.0 s");
  CHECK(human_duration(9.94) == "9.9 s");
  CHECK(human_duration(9.96) == "10 s");
  CHECK(human_duration(59.4) == "59 s");
  CHECK(human_duration(59.6) == "1 min 00 s");
  CHECK(human_duration(185) == "3 min 05 s");
  CHECK(human_duration(3599.7) == "1 h 00 min");
  CHECK(human_duration(7620) == "2 h 07 min");
  CHECK(human_duration(-1) == "?");
  CHECK(human_duration(1e300) == "?");
}
