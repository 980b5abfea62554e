// What the program writes, and what it leaves alone: standard output, links, permissions, and runs that are
// ended.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/terminal/interrupt.hpp>
#include <families/presets.hpp>
#include <image/picture_file.hpp>
#include <support/skip.hpp>
#include <sys/stat.h>

#include "given.hpp"
#include "program.hpp"

using program::names_in;
using program::run;
using program::Scratch;
using program::small_flux;
namespace fs = std::filesystem;

namespace {

/// A small run of the small model under a command; more arguments follow.
std::vector<std::string> small(const std::string& command, const std::vector<std::string>& more) {
  return program::with({command, "--model", small_flux, "--width", "32", "--height", "16", "--steps", "2",
                        "--max-sequence-length", "8", "--prompt", "a red circle"},
                       more);
}

precast::image::Image decoded(const std::string& bytes) {
  return precast::image::decode_image(std::as_bytes(std::span(bytes)), "standard output").image;
}

}  // namespace

TEST_CASE("output -: the picture goes to standard output, and what is said goes elsewhere") {
  const Scratch scratch;
  const std::string in_folder = "cd " + program::quoted(scratch.path().string()) + ";";
  const auto picture = run(small("generate", {"--output", "-"}), in_folder);
  INFO(picture.err);
  REQUIRE(picture.code == 0);
  CHECK(decoded(picture.out).width == 32);
  CHECK_THAT(picture.err, Catch::Contains("32x16, 2 steps"));
  REQUIRE(run(small("generate", {"--output", "named.png"}), in_folder).code == 0);
  CHECK(decoded(picture.out).rgb == precast::image::read_image(scratch.path() / "named.png").image.rgb);
  const auto sheet = run(small("compare", {"--output", "-", "--policies", "quality"}), in_folder);
  INFO(sheet.err);
  if (sheet.code == 0) {  // a build that holds that policy
    CHECK(decoded(sheet.out).width > 32);
    CHECK_THAT(sheet.err, Catch::Contains("PSNR (dB)"));
  }
  CHECK(names_in(scratch.path()) == std::set<std::string>{"named.png"});
  const auto full = run(small("generate", {"--output", "-"}), in_folder, ">/dev/full");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Catch::Contains("could not write to standard output: No space left on device"));
}

TEST_CASE("a disk that fills while a picture is written leaves the old one, and nothing beside it") {
  const Scratch scratch;
  const fs::path picture = scratch.path() / "p.png";
  std::ofstream(picture) << "old";
  const auto full = run(small("generate", {"--output", picture.string()}), "ulimit -f 1;");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Catch::Contains("p.png: could not be written: File too large: raise the limit"));
  CHECK(program::content(picture) == "old");
  CHECK(names_in(scratch.path()) == std::set<std::string>{"p.png"});
}

TEST_CASE("standard output that grows beyond a limit on files is an error like a full disk") {
  for (const auto& words :
       {program::Words{"inspect", "shapes", "--json"}, small("generate", {"--output", "-"})}) {
    const auto full = run(words, "ulimit -f 1;");
    INFO(words.front() << ": " << full.err);
    CHECK(full.code == 1);
    CHECK_THAT(full.err, Catch::Contains("could not write to standard output: File too large"));
  }
}

TEST_CASE("nothing is said where who reads standard output has seen enough, as head does") {
  const Scratch scratch;
  const std::string pipe = program::quoted((scratch.path() / "pipe").string());
  const std::string without_reader =
      "mkfifo " + pipe + "; exec 3<>" + pipe + "; exec 4>" + pipe + "; exec 3<&-; rm " + pipe + ";";
  for (const auto& words : std::vector<program::Words>{{"inspect", "shapes"},
                                                       {"experiment", "underflow", "--html", "-"},
                                                       small("generate", {"--output", "-"})}) {
    const auto result = run(words, without_reader, ">&4");
    INFO(words.front() << ": " << result.err);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, !Catch::Contains("error"));
  }
}

TEST_CASE("what is written to files alone names the standard output as it was given") {
  const Scratch scratch;
  const std::string picture = (scratch.path() / "o.png").string(), out = "/dev/stdout";
  struct Case {
    program::Words words;
    std::string says;
  };
  for (const Case& each : std::vector<Case>{
           {{"record", "-p", "a", "-o", out}, "--output is '/dev/stdout': name a file for the samples"},
           {{"cost", "--samples", "s", "-o", out}, "--output is '/dev/stdout': name a file for the numbers"},
           {{"doctor", "-o", out}, "--output is '/dev/stdout': name a file for the header"},
           {{"compare", "-p", "a", "-o", picture, "--report", out}, "--report is '/dev/stdout': name a file"},
           {{"convert", "shapes", out}, "OUT is '/dev/stdout', and weights"},
           {{"generate", "-p", "a", "-o", picture, "--trace", out}, "--trace is '/dev/stdout': name a file"},
           {{"generate", "-p", "a", "-o", picture, "--save-latents", "-"},
            "--save-latents is '-': name a"}}) {
    const auto refused = run(each.words);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(each.says));
  }
  CHECK(names_in(scratch.path()).empty());
}

TEST_CASE("standard error that is closed does not flow into the picture") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "p.png").string();
  const auto result = run(small("generate", {"--output", output}), "", "2>&-");
  CHECK(result.code == 0);
  CHECK(precast::image::read_image(output).image.width == 32);
  CHECK(program::content(output).find("wrote") == std::string::npos);
}

TEST_CASE("a page is written under a name that a browser opens") {
  const Scratch scratch;
  const std::string page = scratch.path() / "page.txt";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"experiment", "softmax", "--html", page},
           {"compare", "--prompt", "a", "--report", page},
           {"train", "--compare", "f32", "--steps", "1", "--report", page},
           {"bench", "lm", "--sizes", "tiny", "--contexts", "8", "--output", page}}) {
    const auto refused = run(words);
    INFO(words.front() << ": " << refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("it is an HTML page: name one that ends in .html"));
  }
  CHECK(names_in(scratch.path()).empty());
  CHECK(run({"experiment", "softmax", "--html", scratch.path() / "page.HTM"}).code == 0);
}

TEST_CASE("outputs that are one file are told apart from files of one name") {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "folder", other = scratch.path() / "other";
  fs::create_directories(folder);
  fs::create_directories(other);
  fs::create_directory_symlink("folder", scratch.path() / "link");
  fs::create_symlink("folder/x.png", scratch.path() / "to_file");
  const auto with = [&](const std::string& picture, const std::string& latents) {
    return run(small("generate", {"--output", (scratch.path() / picture).string(), "--save-latents",
                                  (scratch.path() / latents).string()}));
  };
  for (const std::string same : {"link/x.png", "link/../folder/x.png", "to_file", "other/../link/x.png"}) {
    const auto refused = with("folder/x.png", same);
    INFO(same << ": " << refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("would be written twice"));
  }
  CHECK(names_in(folder).empty());
  const auto apart = with("folder/x.png", "other/x.png");
  INFO(apart.err);
  CHECK(apart.code == 0);
  CHECK(names_in(folder) == std::set<std::string>{"x.png"});
  CHECK(names_in(other) == std::set<std::string>{"x.png"});
}

TEST_CASE("a file that the program's own words go to is not replaced by another output") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "file").string();
  const auto refused = [&](const std::vector<std::string>& command, const std::string& redirection,
                           const std::string& words) {
    const auto outcome = run(command, "", redirection);
    const std::string said = outcome.err.empty() ? program::content(file) : outcome.err;
    INFO(said);
    CHECK(outcome.code == 2);
    CHECK_THAT(said, Catch::Contains(words + " goes, and would be replaced: give one of them another file"));
  };
  const std::vector<std::string> bench{"bench", "lm", "--sizes", "tiny", "--contexts", "8", "--json", file};
  refused(bench, ">" + program::quoted(file), "standard output");
  refused(bench, "2>>" + program::quoted(file), "standard error");
  refused(program::train_tiny({"--log", "/dev/stderr", "--output", (scratch.path() / "out").string()}),
          "2>" + program::quoted(file), "standard error");
  CHECK(names_in(scratch.path()) == std::set<std::string>{"file"});
  const std::string model = (scratch.path() / "model.gguf").string();
  const program::Words convert{"convert", program::shapes_model, model};
  refused(convert, ">" + program::quoted(model), "standard output");
  CHECK(run(program::with(convert, {"--dry-run"}), "", ">" + program::quoted(model)).code == 0);
  const auto device = run({"bench", "lm", "--sizes", "tiny", "--contexts", "8", "--json", "/dev/null"}, "",
                          ">/dev/null");  // which nobody's words are lost in
  CHECK_THAT(device.err, Catch::Contains("/dev/null: is not a regular file"));
}

TEST_CASE("a log that is named by a descriptor of the program is the file that it is of") {
  const Scratch scratch;
  const fs::path log = scratch.path() / "log";
  const auto trained = run(program::train(scratch.path() / "out", {"--steps", "2", "--log", "/dev/fd/7"}), "",
                           "7>" + program::quoted(log.string()));
  INFO(trained.err);
  CHECK(trained.code == 0);
  CHECK(program::json_lines(log).size() == 2);
}

TEST_CASE("a read-only output is kept, and a replaced one keeps its permissions") {
  const Scratch scratch;
  const std::string file = scratch.file("p.png", "an old picture");
  REQUIRE(::chmod(file.c_str(), 0440) == 0);
  for (const char* command : {"generate", "compare"}) {
    const auto refused = run(small(command, {"--output", file}));
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err,
               Catch::Contains(file + ": exists and is read-only: make it writable (chmod u+w)"));
    CHECK(program::content(file) == "an old picture");
  }
  REQUIRE(::chmod(file.c_str(), 0640) == 0);
  CHECK(run(small("generate", {"--output", file}), "umask 077;").code == 0);
  struct stat facts {};
  REQUIRE(::stat(file.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0640);
  CHECK(precast::image::read_image(file).image.width == 32);
}

TEST_CASE("what a killed run left is swept by the next, and nothing else") {
  const Scratch scratch;
  scratch.file(".precast-999999-0.tmp", "half a picture");
  scratch.file(".precast-999999-17.tmp", "half a trace");
  scratch.file(".precast-mine.tmp", "somebody's own");
  CHECK(run(small("generate", {"--output", (scratch.path() / "p.png").string()})).code == 0);
  CHECK(names_in(scratch.path()) == std::set<std::string>{".precast-mine.tmp", "p.png"});
}

TEST_CASE("a batch that is ended keeps the pictures that were made") {
  for (const auto& [signal, code] : {std::pair("INT", 130), {"TERM", 143}, {"HUP", 129}}) {
    const Scratch scratch;
    const auto result = program::run_until(
        program::files_in(scratch.path(), 3), signal,
        small("generate", {"--batch", "900", "--output", (scratch.path() / "o.png").string()}));
    INFO(signal << ": " << result.err);
    CHECK(result.code == code);
    const std::set<std::string> names = names_in(scratch.path());
    CHECK(names.size() >= 2);
    CHECK(names.size() < 900);
    for (const std::string& name : names)
      CHECK(precast::image::read_image(scratch.path() / name).image.width == 32);
    CHECK_THAT(result.err, Catch::Contains("precast: error: interrupted: " + std::to_string(names.size()) +
                                           " of 900 pictures written"));
  }
}

TEST_CASE("a comparison that is ended keeps the policies that were done") {
  if (precast::families::compiled_presets().size() == 1)
    return precast::testing::skip("this build has one preset, with which the comparison is complete");
  const Scratch scratch;
  const std::string output = (scratch.path() / "c.png").string();
  std::vector<std::string> arguments = small("compare", {"--output", output});
  *(std::find(arguments.begin(), arguments.end(), "--steps") + 1) = "1000";
  const auto result = program::run_until(program::exists(output), "INT", arguments);
  INFO(result.err);
  CHECK(result.code == 130);
  CHECK(precast::image::read_image(output).image.width > 32);
  CHECK_THAT(result.err, Catch::Contains("policies done"));
  CHECK(names_in(scratch.path()) == std::set<std::string>{"c.png"});
}

TEST_CASE("a signal ends the wait for prompts on standard input") {
  for (const auto& [signal, code] : {std::pair("INT", 130), {"TERM", 143}, {"HUP", 129}}) {
    const Scratch scratch;
    const std::string pipe = program::quoted((scratch.path() / "pipe").string());
    // The pipe stays open for longer than the program is to wait.
    const auto result =
        run(small("generate", {"--prompts-file", "-", "--output", (scratch.path() / "o.png").string()}),
            "mkfifo " + pipe + "; (echo a star; sleep 20) >" + pipe + " 2>/dev/null & " + program::heard,
            "<" + pipe + " & p=$!; sleep 1; kill -" + signal + " $p; wait $p");
    INFO(signal << ": " << result.err);
    CHECK(result.code == code);
    CHECK_THAT(result.err, Catch::Contains("precast: error: interrupted: nothing was written"));
  }
}

TEST_CASE("a signal ends the wait for prompts of a named pipe, whether it has a writer or not") {
  for (const char* const writer : {"true", "(echo a star; sleep 20) >"}) {
    const Scratch scratch;
    const std::string pipe = (scratch.path() / "pipe").string(), quoted = program::quoted(pipe);
    const bool writes = std::string_view(writer).ends_with('>');
    const auto result = run(
        small("generate", {"--prompts-file", pipe, "--output", (scratch.path() / "o.png").string()}),
        "mkfifo " + quoted + "; " + writer + (writes ? quoted : "") + " 2>/dev/null & " + program::heard,
        " & p=$!; sleep 1; kill -TERM $p; (sleep 10; kill -KILL $p) >/dev/null 2>&1 & g=$!; wait $p; c=$?; "
        "kill $g; exit $c");
    INFO(writer << ": " << result.err);
    CHECK(result.code == 143);
    CHECK_THAT(result.err, Catch::Contains("precast: error: interrupted: nothing was written"));
  }
}

TEST_CASE("a pipe that ends with the signal is no end of the prompts") {
  // What Ctrl-C does to `writer | precast`. Which of the two is seen first is not for a test to say.
  for (int i = 0; i < 6; ++i) {
    const Scratch scratch;
    const std::string pipe = (scratch.path() / "pipe").string();
    const bool is_named = i % 2 != 0;
    const auto result = run(small("generate", {"--prompts-file", is_named ? pipe : "-", "--output",
                                               (scratch.path() / "o.png").string()}),
                            "mkfifo " + program::quoted(pipe) + "; " + program::heard,
                            (is_named ? "" : "<" + program::quoted(pipe)) + " & p=$!; exec 3>" +
                                program::quoted(pipe) + "; sleep 0.5; kill -INT $p; exec 3>&-; wait $p");
    INFO(result.err);
    CHECK(result.code == 130);
    CHECK_THAT(result.err, !Catch::Contains("holds no prompt"));
  }
}

TEST_CASE("a signal is heard on a stack of its own") {
  // Below that of the program lie values of oneDNN's products for AVX2.
  const auto is_there = [] {
    stack_t stack{};
    REQUIRE(sigaltstack(nullptr, &stack) == 0);
    return (stack.ss_flags & SS_DISABLE) == 0;
  };
  const bool was_there = is_there();
  std::map<int, struct sigaction> before;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaction(signal, nullptr, &before[signal]);
  std::signal(SIGTERM, SIG_DFL);
  precast::cli::catch_interrupts();
  struct sigaction now {};
  sigaction(SIGTERM, nullptr, &now);
  CHECK((now.sa_flags & SA_ONSTACK) != 0);
  CHECK(is_there());
  for (const auto& [signal, action] : before) sigaction(signal, &action, nullptr);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (!was_there) sigaltstack(&none, nullptr);
}

TEST_CASE("a signal that the parent ignores stays ignored") {
  const Scratch scratch;
  const std::string pipe = program::quoted((scratch.path() / "pipe").string());
  for (const char* signal : {"INT", "TERM", "HUP"}) {
    const std::string output = (scratch.path() / signal).string() + ".png";
    const auto result = run(small("generate", {"--prompts-file", "-", "--output", output}),
                            "mkfifo " + pipe + "; trap '' " + signal + ";",
                            "<" + pipe + " & p=$!; (sleep 1; kill -" + signal + " $p; echo a star) >" + pipe +
                                "; wait $p; c=$?; rm " + pipe + "; exit $c");
    INFO(signal << ": " << result.err);
    CHECK(result.code == 0);
    CHECK(fs::exists(scratch.path() / (std::string(signal) + "-2.png")));
    CHECK_THAT(result.err, !Catch::Contains("stopping"));
  }
}

#if !PRECAST_HAS_ADDRESS_SANITIZER
TEST_CASE("a signal that comes before the program is ready is heard") {
  // A library that signals while libraries set themselves up, which is before main and before any global.
  const Scratch scratch;
  const std::string source =
      scratch.file("early.c",
                   "#include <signal.h>\n"
                   "__attribute__((constructor)) static void early(void) { raise(SIGTERM); }\n");
  const std::string library = (scratch.path() / "early.so").string();
  REQUIRE(std::system(("cc -shared -fPIC -o " + library + " " + source).c_str()) == 0);
  const auto result = run({"formats", "1"}, "LD_PRELOAD=" + library);
  CHECK(result.code == 143);
  CHECK_THAT(result.err, Catch::Contains("precast: error: interrupted after everything was done"));
  CHECK_THAT(result.out, Catch::Contains("bf16"));
}
#endif
