// What the program says that it needs is what the system counts; and no limit on memory makes it crash.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <image/picture_file.hpp>

#include <precast/policy/paths.hpp>

#include "program.hpp"

using namespace precast;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;  // which takes memory of its own
#else
constexpr bool sanitized = false;
#endif

/// What the program says and what the system counts, in bytes.
struct Peaks {
  double estimated, measured;
};

Peaks peaks_of(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) line += argument + " ";
  const program::Outcome outcome = program::run(arguments);
  INFO(line << outcome.err);
  REQUIRE(outcome.code == 0);
  const auto json = outcome.json();
  return {json.at("estimated_peak_bytes"), json.at("peak_resident_bytes")};
}

/// Generates, and compares the estimate with the largest size of the process. That moves by some percent from
/// run to run, by which thread has asked the allocator first: it is the median of runs, three where the
/// first is out of bounds.
void check_estimate(std::vector<std::string> arguments, const std::string& steps = "2") {
  const program::Scratch scratch;
  arguments.insert(arguments.begin(), {"generate", "--prompt", "a red circle", "--steps", steps, "--device",
                                       "cpu", "--json", "--output", (scratch.path() / "o.png").string()});
  const auto [estimate, first] = peaks_of(arguments);
  if (sanitized || first == 0) return;
  double measured = first;
  if (estimate < 0.9 * first || estimate > 1.1 * first) {
    std::array<double, 3> runs{first, peaks_of(arguments).measured, peaks_of(arguments).measured};
    std::ranges::sort(runs);
    measured = runs[1];
  }
  INFO("estimated " << estimate / (1 << 20) << " MiB, taken " << measured / (1 << 20) << " MiB");
  CHECK(estimate >= 0.9 * measured);
  CHECK(estimate <= 1.1 * measured);
}

/// The presets that this build holds.
std::vector<std::string> compiled_presets() {
  std::vector<std::string> names;
  for (const NamedPreset& preset : named_presets)
    if (path_compiled(preset.choice)) names.emplace_back(preset.name);
  return names;
}

}  // namespace

TEST_CASE("the estimate is within a tenth of the largest size of the process") {
  for (const std::string& preset : compiled_presets())
    for (const char* side : {"64", "256", "512"})
      check_estimate({"--preset", preset, "--width", side, "--height", side});
}

TEST_CASE("the estimate counts the picture to start from, the trace, and several pictures") {
  const program::Scratch scratch;
  const std::string picture = (scratch.path() / "large.png").string();
  image::write_image(picture, {4000, 3000, std::vector<std::uint8_t>(std::size_t{3} * 4000 * 3000, 90)}, {});
  for (const std::string& preset : compiled_presets()) {
    check_estimate({"--preset", preset, "--image", picture, "--strength", "0.5"});
    check_estimate({"--preset", preset, "--trace", (scratch.path() / "trace.json").string()}, "50");
    check_estimate({"--preset", preset, "--width", "128", "--height", "128", "--batch", "8"});
  }
}

TEST_CASE("under any limit on its memory the program makes the picture or says in one line that it cannot") {
  if (sanitized) return;  // needs terabytes of addresses
  const program::Scratch scratch;
  int refused = 0, made = 0;
  for (int kilobytes = 40'000; kilobytes <= 600'000; kilobytes += kilobytes < 160'000 ? 6'000 : 40'000) {
    const program::Outcome outcome =
        program::run({"generate", "--prompt", "a", "--steps", "1", "--device", "cpu", "--threads", "2",
                      "--output", (scratch.path() / "o.png").string()},
                     "ulimit -v " + std::to_string(kilobytes) + ";");
    INFO("ulimit -v " << kilobytes << ": exit code " << outcome.code << "\n" << outcome.err);
    if (outcome.err.find("error while loading shared libraries") != std::string::npos) continue;  // not begun
    if (outcome.code == 0) {
      ++made;
      continue;
    }
    ++refused;
    CHECK(outcome.code == 1);
    CHECK(outcome.err.find("precast: error: ") != std::string::npos);
    CHECK(outcome.err.ends_with("\n"));
  }
  CHECK(made > 0);
  CHECK(refused > 0);
}
