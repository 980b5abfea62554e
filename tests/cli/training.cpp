// precast train as a user runs it: what it writes, how it goes on, and what it refuses.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <image/unicode.hpp>

#include <precast/io/safetensors.hpp>

#include "program.hpp"

using program::run;
using program::Scratch;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

/// A run of a tiny model.
Words train(const fs::path& output, const Words& more) {
  Words words{"train", "--width",   "16", "--heads", "2",        "--layers", "1",        "--batch",
              "2",     "--context", "8",  "--quiet", "--sample", "0",        "--output", output.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<nlohmann::json> lines_of(const fs::path& log) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(program::content(log));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("train writes a model, a checkpoint and a line of JSON a step", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", log = scratch.path() / "log.jsonl";
  const auto trained = run(train(out, {"--steps", "40", "--lr", "1e-2", "--log", log.string(), "--json"}));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(trained.json()["loss"].get<double>() < trained.json()["first_loss"].get<double>());
  for (const char* file :
       {"config.json", "model.safetensors", "checkpoint.safetensors", "precast_tokenizer.json"})
    CHECK(fs::exists(out / file));
  const auto lines = lines_of(log);
  REQUIRE(lines.size() == 40);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i]["step"] == i);
    for (const char* key : {"loss", "grad_norm", "scale", "lr", "tokens_per_second", "memory", "non_finite"})
      CHECK(lines[i][key].is_number());
    CHECK(lines[i]["skipped"] == false);
  }
  const auto more = run(train(scratch.path() / "more", {"--model", out.string(), "--steps", "3", "--json"}));
  INFO(more.err);
  REQUIRE(more.code == 0);
  CHECK(more.json()["first_loss"].get<double>() < 0.9 * trained.json()["first_loss"].get<double>());
}

TEST_CASE("a training run that is killed goes on with the bits of one that was not", "[train]") {
  const Scratch scratch;
  const fs::path killed = scratch.path() / "killed", whole = scratch.path() / "whole";
  std::string line = program::quoted(PRECAST_PROGRAM);
  for (const std::string& word :
       train(killed, {"--policy", "amp-f16", "--checkpoint-every", "7", "--steps", "1000000"}))
    line += " " + program::quoted(word);
  const std::string script = "(exec " + line + ") >/dev/null 2>&1 & child=$!; for i in $(seq 600); do [ -e " +
                             program::quoted((killed / "checkpoint.safetensors").string()) +
                             " ] && break; sleep 0.1; done; kill -9 $child; wait";
  REQUIRE(std::system(script.c_str()) != -1);
  const precast::io::SafetensorsFile left(killed / "checkpoint.safetensors");
  const std::string steps = std::to_string(std::stoi(left.metadata().at("step")) + 5);
  CHECK(std::stoi(left.metadata().at("step")) % 7 == 0);
  const auto resumed = run(train(killed, {"--policy", "amp-f16", "--steps", steps, "--resume"}));
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  REQUIRE(run(train(whole, {"--policy", "amp-f16", "--steps", steps})).code == 0);
  for (const char* file : {"checkpoint.safetensors", "model.safetensors"})
    CHECK(program::content(killed / file) == program::content(whole / file));
}

TEST_CASE("the log of a run that goes on has each step once", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", log = scratch.path() / "log.jsonl";
  REQUIRE(run(train(out, {"--steps", "6", "--log", log.string()})).code == 0);
  program::Outcome resumed = run(train(out, {"--steps", "9", "--log", log.string(), "--resume"}));
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  const auto lines = lines_of(log);
  REQUIRE(lines.size() == 9);
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]["step"] == i);
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

TEST_CASE("train --compare shows that naive f16 fails and loss scaling recovers", "[train]") {
  const Scratch scratch;
  const std::string page = (scratch.path() / "page.html").string();
  const auto compared = run({"train",
                             "--compare",
                             "f32,naive-f16,amp-f16",
                             "--width",
                             "16",
                             "--heads",
                             "2",
                             "--layers",
                             "1",
                             "--batch",
                             "2",
                             "--context",
                             "8",
                             "--steps",
                             "12",
                             "--init-scale",
                             "1e9",
                             "--quiet",
                             "--report",
                             page,
                             "--json"});
  INFO(compared.err);
  REQUIRE(compared.code == 0);
  const auto runs = compared.json()["runs"];
  REQUIRE(runs.size() == 3);
  CHECK(runs[0]["not_finite_from"].is_null());
  CHECK(runs[1]["not_finite_from"] == 1);
  CHECK(runs[2]["not_finite_from"].is_null());
  CHECK(runs[2]["skipped"] > 0);
  CHECK(runs[2]["scale"] < 1e9);
  const std::string html = program::content(page);
  for (const char* part : {"<svg", "naive-f16", "Loss scale", "0 in f16", "gradient norm by step",
                           "class=\"non-finite\"", "naive-f16: ", "amp-f16: 1e+09 at 0"})
    CHECK_THAT(html, Catch::Contains(part));
  CHECK(html.find("nan\"") == std::string::npos);
}

TEST_CASE("a run that fails before its first checkpoint leaves the model of its folder as it was",
          "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string config = program::content(out / "config.json");
  const std::string log = (scratch.path() / "none" / "log.jsonl").string();
  CHECK(run(train(out, {"--steps", "2", "--architecture", "llama", "--log", log})).code == 1);
  CHECK(program::content(out / "config.json") == config);
  REQUIRE(run(train(out, {"--steps", "2", "--architecture", "llama"})).code == 0);
  CHECK(program::content(out / "config.json") != config);
}

TEST_CASE("train takes equal betas, and prints NaN without a sign", "[train]") {
  const Scratch scratch;
  const auto equal = run(train(scratch.path() / "equal", {"--steps", "2", "--betas", "0.9,0.9"}));
  INFO(equal.err);
  CHECK(equal.code == 0);
  // without --eps the rows of characters that do not occur are 0 / 0
  const auto failed = run(train(scratch.path() / "failed", {"--steps", "3", "--eps", "0"}));
  INFO(failed.err);
  CHECK(failed.code == 0);
  CHECK_THAT(failed.out, Catch::Contains("-> NaN in"));
}

TEST_CASE("train refuses what cannot be trained on, in one line each", "[train]") {
  const Scratch scratch;
  const std::string empty = scratch.file("empty.txt", ""), brief = scratch.file("short.txt", "abc"),
                    latin = scratch.file("latin.txt", "caf\xe9 au lait and more of it");
  const fs::path out = scratch.path() / "out";
  const auto refused = [&](const Words& more, int code, const std::string& words) {
    const auto outcome = run(train(out, more));
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.one_line_error());
    CHECK_THAT(outcome.err, Catch::Contains(words));
    CHECK_FALSE(fs::exists(out));
  };
  refused({"--data", empty}, 1, "is empty");
  refused({"--data", brief}, 1, "fewer than the 9");
  refused({"--data", latin}, 1, "byte 3 is not UTF-8");
  refused({"--data", (scratch.path() / "none").string()}, 1, "none");
  refused({"--lr", "0"}, 2, "--lr");
  refused({"--lr", "-1"}, 2, "--lr");
  refused({"--lr", "1e30"}, 2, "--lr");
  refused({"--lr", "nan"}, 2, "--lr");
  refused({"--betas", "0.9"}, 2, "--betas");
  refused({"--betas", "0.9,1"}, 2, "--betas");
  refused({"--betas", "0.9,"}, 2, "--betas");
  refused({"--betas", "0.9,0.99,0.999"}, 2, "--betas");
  refused({"--clip", "0"}, 2, "--clip");
  refused({"--steps", "0"}, 2, "--steps");
  refused({"--steps", "-3"}, 2, "--steps");
  refused({"--growth-factor", "1"}, 2, "--growth-factor");
  refused({"--backoff-factor", "1"}, 2, "--backoff-factor");
  refused({"--init-scale", "0"}, 2, "--init-scale");
  refused({"--heads-kv", "1"}, 2, "--heads-kv");
  refused({"--policy", "f33"}, 1, "there is no training policy 'f33'");
  refused({"--schedule", "linear"}, 2, "--schedule");
  refused({"--report", "page.html"}, 2, "--compare");
  refused({"--compare", "f32", "--log", "log.jsonl"}, 2, "--log");
  refused({"--resume"}, 1, "config.json");
  refused({"--model", (scratch.path() / "nothing").string()}, 1, "config.json");
  const std::string other = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/language_models/tiny_gpt2/";
  scratch.file("config.json", program::content(other + "config.json"));
  fs::copy_file(other + "model.safetensors", scratch.path() / "model.safetensors");
  std::string letters;
  for (int i = 0; i < 2000; ++i) precast::image::append_utf8(letters, 0x4e00 + i);
  scratch.file("precast_tokenizer.json", "{\"characters\": \"" + letters + "\"}");
  refused({"--model", scratch.path().string()}, 1, "are not of one model");
  const auto sizes = run({"train", "--width", "30", "--heads", "4", "--output", out.string()});
  CHECK(sizes.code == 2);
  CHECK_THAT(sizes.err, Catch::Contains("multiple of --heads"));
}
