// precast train where a run ends early: Ctrl-C, full disks, folders that cannot be written.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include <precast/io/safetensors.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::train;
using program::Words;
namespace fs = std::filesystem;

TEST_CASE("a folder that cannot be written is told of before it is trained for", "[train]") {
  const Scratch scratch;
  const fs::path log = scratch.path() / "log.jsonl";
  const auto refused = run(train("/proc", {"--steps", "3", "--log", log.string()}));
  INFO(refused.err);
  CHECK(refused.code == 1);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err,
             Catch::StartsWith("precast: error: /proc/checkpoint.safetensors: cannot be written"));
  CHECK_FALSE(fs::exists(log));
}

TEST_CASE("a full disk leaves the last good checkpoint", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "4"})).code == 0);
  const std::string before = program::content(out / "checkpoint.safetensors");
  const auto full = run(train(out, {"--steps", "8", "--resume"}), "ulimit -f 16;");
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_THAT(full.err, Catch::Contains("checkpoint.safetensors"));
  CHECK(program::content(out / "checkpoint.safetensors") == before);
  CHECK(std::distance(fs::directory_iterator(out), fs::directory_iterator()) == 4);
  CHECK(run(train(out, {"--steps", "8", "--resume"})).code == 0);
}

TEST_CASE("a disk that is full at the first checkpoint leaves nothing of a run", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const auto full = run(train(out, {"--steps", "4"}), "ulimit -f 16;");
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_FALSE(fs::exists(out));
}

#if !PRECAST_HAS_ADDRESS_SANITIZER
TEST_CASE("a disk that says only at the end that it is full leaves the folder as it was", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string config = program::content(out / "config.json");
  // What a network's disk may do: large files fit until they are brought to it.
  const std::string library = (scratch.path() / "full.so").string(),
                    source =
                        scratch.file("full.c",
                                     "#define _GNU_SOURCE\n#include <errno.h>\n#include <sys/stat.h>\n"
                                     "#include <sys/syscall.h>\n#include <unistd.h>\n"
                                     "int fsync(int file) { struct stat facts; if (fstat(file, &facts) "
                                     "== 0 && S_ISREG(facts.st_mode) && facts.st_size > 16384) { errno = "
                                     "ENOSPC; return -1; } return (int)syscall(SYS_fsync, file); }\n");
  if (std::system(
          ("cc -shared -fPIC " + program::quoted(source) + " -o " + program::quoted(library) + " 2>/dev/null")
              .c_str()) != 0) {
    WARN("no C compiler for a disk that is full");
    return;
  }
  const auto full = run(train(out, {"--steps", "2", "--architecture", "llama", "--overwrite"}),
                        "LD_PRELOAD=" + program::quoted(library));
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_THAT(full.err, Catch::Contains("checkpoint.safetensors: could not be written: No space left"));
  CHECK(program::content(out / "config.json") == config);
}
#endif

TEST_CASE("a run that fails before its first checkpoint leaves the model of its folder as it was",
          "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string config = program::content(out / "config.json");
  const std::string log = (scratch.path() / "none" / "log.jsonl").string();
  CHECK(run(train(out, {"--steps", "2", "--architecture", "llama", "--overwrite", "--log", log})).code == 1);
  CHECK(program::content(out / "config.json") == config);
  // From its first checkpoint on the folder is this run's, and has no weights of another under its config.
  CHECK(fs::exists(out / "model.safetensors"));
  program::run_until("grep -q llama " + program::quoted((out / "config.json").string()), "KILL",
                     train(out, {"--steps", "1000000", "--architecture", "llama", "--overwrite",
                                 "--checkpoint-every", "1"}));
  CHECK(program::content(out / "config.json") != config);
  CHECK_FALSE(fs::exists(out / "model.safetensors"));
  REQUIRE(run(train(out, {"--steps", "2", "--architecture", "llama", "--overwrite"})).code == 0);
  CHECK(program::content(out / "config.json") != config);
}

TEST_CASE("a run that fails takes every folder away that it made, and no other", "[train]") {
  const Scratch scratch;
  const fs::path there = scratch.path() / "there";
  fs::create_directory(there);
  const std::string log = (scratch.path() / "none" / "log.jsonl").string();
  const std::string longer_than_names(300, 'x');
  for (const fs::path inner : {"a/b/c", "a/b/c/", "a/../b"}) {
    INFO(inner.string());
    CHECK(run(train(there / inner, {"--steps", "2", "--log", log})).code == 1);
    CHECK(fs::is_empty(there));
  }
  const auto half = run(train(there / "a/b" / longer_than_names, {"--steps", "2"}));
  INFO(half.err);
  CHECK(half.code == 1);
  CHECK_THAT(half.err, Catch::Contains("cannot be made: File name too long"));
  CHECK(fs::is_empty(there));
}

TEST_CASE("Ctrl-C leaves a checkpoint, also before the first one is due", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", whole = scratch.path() / "whole",
                 log = scratch.path() / "log.jsonl";
  const auto ended = program::run_until(
      "[ -s " + program::quoted(log.string()) + " ]", "TERM",
      train(out, {"--steps", "100000000", "--checkpoint-every", "1000000000", "--log", log.string()}));
  INFO(ended.err);
  CHECK(ended.code == 143);
  const precast::io::SafetensorsFile left(out / "checkpoint.safetensors");
  const std::string step = left.metadata().at("step");
  CHECK_THAT(ended.err, Catch::Contains("--resume continues from the checkpoint of step " + step));
  CHECK(program::json_lines(log).size() == std::stoul(step));
  const std::string steps = std::to_string(std::stoi(step) + 3);
  REQUIRE(run(train(out, {"--steps", steps, "--resume"})).code == 0);
  REQUIRE(run(train(whole, {"--steps", steps})).code == 0);
  CHECK(program::content(out / "model.safetensors") == program::content(whole / "model.safetensors"));
}

TEST_CASE("Ctrl-C ends a sample that is long, and shows what the run came to", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const auto ended = program::run_until(
      program::exists(out / "model.safetensors"), "TERM",
      program::train_tiny({"--batch", "2", "--steps", "2", "--sample", "100000", "--output", out.string()}));
  INFO(ended.err);
  CHECK(ended.code == 143);
  CHECK_THAT(ended.out, Catch::Contains(" in 2 steps"));
  CHECK(ended.out.size() < 100000);
}

TEST_CASE("a full disk leaves whole lines in the log", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", log = scratch.path() / "log.jsonl";
  const auto full = run(train(out, {"--steps", "100", "--log", log.string()}), "ulimit -f 1;");
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_THAT(full.err, Catch::Contains("log.jsonl: could not be written"));
  const std::string text = program::content(log);
  CHECK(text.ends_with('\n'));
  CHECK(program::json_lines(log).size() >= 2);
}

TEST_CASE("a run whose log cannot grow leaves a checkpoint of all its steps", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", log = scratch.path() / "log.jsonl";
  // Larger than the checkpoint, and no room in the log beyond its 400 lines.
  std::string lines;
  for (int step = 0; step < 400; ++step)
    lines += "{\"step\": " + std::to_string(step) + ", \"padding\": \"" + std::string(600, ' ') + "\"}\n";
  REQUIRE(run(train(out, {"--steps", "400"})).code == 0);
  REQUIRE(fs::file_size(out / "checkpoint.safetensors") + 4096 < lines.size());
  scratch.file("log.jsonl", lines);
  const std::string limit =
      "ulimit -f " + std::to_string(lines.size() / 512 + 2) + ";";  // sh counts blocks of 512
  const auto full = run(train(out, {"--steps", "450", "--resume", "--log", log.string()}), limit);
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_THAT(full.err, Catch::Contains("log.jsonl: could not be written"));
  const precast::io::SafetensorsFile left(out / "checkpoint.safetensors");
  const std::string step = left.metadata().at("step");
  CHECK(std::stoul(step) == program::json_lines(log).size() + 1);  // the step whose line did not fit
  CHECK_THAT(full.err, Catch::Contains("--resume continues from the checkpoint of step " + step));
}

TEST_CASE("a log whose last line was cut off goes on whole, and another file is no log", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", log = scratch.path() / "log.jsonl";
  REQUIRE(run(train(out, {"--steps", "4", "--log", log.string()})).code == 0);
  std::ofstream(log, std::ios::app) << "{\"step\": 4, \"lo";
  REQUIRE(run(train(out, {"--steps", "6", "--log", log.string(), "--resume"})).code == 0);
  const auto lines = program::json_lines(log);
  REQUIRE(lines.size() == 6);
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]["step"] == i);
  for (const char* text : {"not a log\n", "nor this, without the end of a line", "{\"version\":1}"}) {
    const std::string notes = scratch.file("notes.txt", text);
    const auto refused = run(train(out, {"--steps", "8", "--log", notes, "--resume"}));
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("is not a log of precast train"));
    CHECK(program::content(notes) == text);
  }
}

TEST_CASE("a run that begins takes the place of a log, and of no other file", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  for (const char* text : {"not a log\n", "{\"version\": 1}\n", "# settings", "{\"step\": \"first\"}\n"}) {
    const std::string notes = scratch.file("notes.txt", text);
    for (const Words& words :
         {train(out, {"--steps", "2", "--log", notes}),
          program::train_tiny({"--context", "8", "--steps", "2", "--compare", "f32,bf16", "--log", notes})}) {
      const auto refused = run(words);
      INFO(refused.err);
      CHECK(refused.code == 1);
      CHECK(refused.one_line_error());
      CHECK_THAT(refused.err, Catch::Contains("is not a log of precast train: give --log another name"));
    }
    CHECK(program::content(notes) == text);
    CHECK_FALSE(fs::exists(out));
  }
  const std::string log = scratch.file("log.jsonl", "");
  const auto trained = [&](const Words& words) { CHECK(run(words).code == 0); };
  trained(program::train_tiny(
      {"--context", "8", "--batch", "2", "--steps", "2", "--compare", "f32,bf16", "--log", log}));
  CHECK(program::json_lines(log).size() == 4);
  trained(train(out, {"--steps", "3", "--log", log}));
  CHECK(program::json_lines(log).size() == 3);
  trained(train(out, {"--steps", "2", "--log", log, "--overwrite"}));
  CHECK(program::json_lines(log).size() == 2);
  // The log of a comparison is none to go on with: the lines of its other policies would be lost.
  trained(program::train_tiny(
      {"--context", "8", "--batch", "2", "--steps", "4", "--compare", "f32,bf16", "--log", log}));
  CHECK(run(train(out, {"--steps", "4", "--log", log, "--resume"})).code == 1);
  CHECK(program::json_lines(log).size() == 8);
}
