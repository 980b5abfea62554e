// What the program says that it needs is what the system counts; and no limit on memory makes it crash.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <image/picture_file.hpp>
#include <support/skip.hpp>

#include <precast/policy/paths.hpp>

#include "given.hpp"
#include "program.hpp"

using namespace precast;
using program::sanitized;

namespace {

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
/// run to run, by which thread is first: it is the median of runs, three where the first is out of bounds.
void check_estimate(std::vector<std::string> arguments, const std::string& steps = "2",
                    const std::string& end = "png") {
  const program::Scratch scratch;
  arguments.insert(arguments.begin(),
                   {"generate", "--prompt", "a red circle", "--steps", steps, "--device", "cpu", "--json",
                    "--output", (scratch.path() / ("o." + end)).string()});
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

/// What came of a run under a limit.
enum class Under : std::uint8_t { not_begun, refused, done };

/// Whether the program's own code was reached: where a limit is too small for them, the shell ends with 126
/// and the loader with 127, each in words of its own; the system kills what it cannot even map.
bool begun(const program::Outcome& outcome, int kilobytes) {
  const auto file = static_cast<std::int64_t>(std::filesystem::file_size(PRECAST_PROGRAM));
  const bool is_killed = outcome.code == 139 && std::int64_t{1024} * kilobytes < file;
  return outcome.code != 126 && outcome.code != 127 && !is_killed;
}

/// The presets that this build holds.
std::vector<std::string> compiled_presets() {
  std::vector<std::string> names;
  for (const NamedPreset& preset : named_presets)
    if (path_compiled(preset.choice)) names.emplace_back(preset.name);
  return names;
}

}  // namespace

TEST_CASE("estimates hold for a VAE in bands of rows", "[memory][many_runs]") {
  // Nine bands under one preset, four under the others.
  const std::vector<std::string> presets = compiled_presets();
  for (const char* model : {"shapes-sd", "shapes-flux"})
    for (const std::string& preset : presets) {
      const std::string side = preset == presets.front() ? "768" : "512";
      check_estimate(
          {"--model", model, "--preset", preset, "--width", side, "--height", side, "--vae-tiling"}, "1");
    }
}

TEST_CASE("estimates hold for Stable Diffusion's pictures of all sizes", "[memory][many_runs]") {
  for (const std::string& preset : compiled_presets())
    for (const char* side : {"256", "512"})
      check_estimate({"--model", "shapes-sd", "--preset", preset, "--width", side, "--height", side}, "1");
  // The pool of memory learns what a loop takes, and holds more from its second round on.
  check_estimate({"--model", "shapes-sd", "--width", "512", "--height", "512"}, "4");
  check_estimate({"--model", "shapes-sd", "--width", "768", "--height", "768"}, "1");
  check_estimate({"--model", "shapes-sd", "--width", "1024", "--height", "512"}, "1");
}

TEST_CASE("the estimate is within a tenth of the largest size of the process", "[memory][many_runs]") {
  for (const std::string& preset : compiled_presets())
    for (const char* side : {"64", "256", "512"})
      check_estimate({"--preset", preset, "--width", side, "--height", side});
}

TEST_CASE("the estimate is of the formats that a plan has, whatever the file has", "[memory][many_runs]") {
  // The file's bf16, which policies in f32 keep, becomes narrower, and wider.
  const program::Scratch scratch;
  for (const std::string& preset : compiled_presets())
    for (const char* types : {R"("transformer_blocks": "q8_0", "single_transformer_blocks": "fp8_e4m3")",
                              R"("transformer_blocks": "f32", "single_transformer_blocks": "f32")"}) {
      const std::string plan = scratch.file("plan.json", std::string(R"({"types": {)") + types + "}}");
      check_estimate({"--preset", preset, "--plan", plan});
    }
}

TEST_CASE("the estimate counts the picture to start from, the trace, and several pictures",
          "[memory][many_runs]") {
  const program::Scratch scratch;
  const std::string picture = (scratch.path() / "large.png").string();
  image::write_image(picture, {4000, 3000, std::vector<std::uint8_t>(std::size_t{3} * 4000 * 3000, 90)}, {});
  for (const std::string& preset : compiled_presets()) {
    check_estimate({"--preset", preset, "--image", picture, "--strength", "0.5"});
    check_estimate({"--preset", preset, "--trace", (scratch.path() / "trace.json").string()}, "50");
    check_estimate({"--preset", preset, "--width", "128", "--height", "128", "--batch", "8"});
  }
}

TEST_CASE("the estimate counts what reading and writing pictures takes", "[many_runs]") {
  const program::Scratch scratch;
  constexpr int side = 2500;
  image::Image noisy{side, side, std::vector<std::uint8_t>(std::size_t{3} * side * side)};
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < noisy.rgb.size(); ++i) {
    random = random * 1664525u + 1013904223u;
    noisy.rgb[i] = static_cast<std::uint8_t>(i / 3 % side / 10 + (random >> 29));
  }
  const std::string picture = (scratch.path() / "large.webp").string();
  image::write_image(picture, noisy, {}, 100);
  check_estimate({"--image", picture});
  for (const char* side_written : {"256", "512"})
    for (const auto& [end, quality] : {std::pair("webp", "100"), {"webp", "90"}, {"jpg", "95"}})
      check_estimate({"--width", side_written, "--height", side_written, "--quality", quality}, "2", end);
}

TEST_CASE("under any limit on its memory the program makes the picture or says in one line that it cannot") {
  if (sanitized) return precast::testing::skip("a sanitizer needs terabytes of addresses");
  const program::Scratch scratch;
  const std::vector<std::string> generate{"generate",
                                          "--prompt",
                                          "a",
                                          "--steps",
                                          "1",
                                          "--device",
                                          "cpu",
                                          "--threads",
                                          "2",
                                          "--output",
                                          (scratch.path() / "o.png").string()};
  const auto check_under = [&](const std::vector<std::string>& arguments, int kilobytes) {
    const program::Outcome outcome = program::run(arguments, "ulimit -v " + std::to_string(kilobytes) + ";");
    if (!begun(outcome, kilobytes)) return Under::not_begun;
    INFO("ulimit -v " << kilobytes << ": exit code " << outcome.code << "\n" << outcome.err);
    if (outcome.code == 0) return Under::done;
    CHECK(outcome.code == 1);
    CHECK(outcome.err.find("precast: error: ") != std::string::npos);
    CHECK(outcome.err.ends_with("\n"));
    return Under::refused;
  };
  int first = 0, refused = 0, made = 0;
  for (int kilobytes = 40'000; kilobytes <= 600'000; kilobytes += kilobytes < 160'000 ? 6'000 : 40'000) {
    const Under found = check_under(generate, kilobytes);
    if (found == Under::not_begun) first = kilobytes;
    refused += found == Under::refused;
    made += found == Under::done;
  }
  CHECK(made > 0);
  CHECK(refused > 0);
  // Where the program begins, failures are close to each other: libraries that set themselves up, the first
  // file that is read.
  for (int step = 6'000; step > 40; step /= 2)
    if (check_under({"--version"}, first + step) == Under::not_begun) first += step;
  for (int kilobytes = first; kilobytes < first + 2'000; kilobytes += 40) {
    check_under({"--version"}, kilobytes);
    check_under(generate, kilobytes);
  }
  // And where the reserve that main begins with is there: the rest of start-up, and the model's first files.
  int runs = first;
  while (runs < first + 40'000 && check_under({"--version"}, runs) != Under::done) runs += 400;
  for (int kilobytes = runs - 400; kilobytes < runs + 4'000; kilobytes += 40)
    check_under(generate, kilobytes);
}
