// precast train as a user runs it: what it writes, how it goes on, and what it refuses.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <image/unicode.hpp>

#include <precast/io/safetensors.hpp>
#include <precast/io/safetensors_writer.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::Words;
namespace fs = std::filesystem;

namespace {

/// A run of a tiny model.
Words train(const fs::path& output, const Words& more) {
  return program::with(
      program::train_tiny({"--batch", "2", "--context", "8", "--sample", "0", "--output", output.string()}),
      more);
}

}  // namespace

TEST_CASE("train writes a model, a checkpoint and a line of JSON a step", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", log = scratch.path() / "log.jsonl";
  const auto trained = run(train(out, {"--steps", "40", "--lr", "1e-2", "--log", log.string(), "--json"}));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(trained.json()["loss"].get<double>() < trained.json()["first_loss"].get<double>());
  CHECK(trained.json()["non_finite"] == 0);
  for (const char* file :
       {"config.json", "model.safetensors", "checkpoint.safetensors", "precast_tokenizer.json"})
    CHECK(fs::exists(out / file));
  const auto lines = program::json_lines(log);
  REQUIRE(lines.size() == 40);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i]["step"] == i);
    for (const char* key : {"loss", "grad_norm", "scale", "lr", "tokens_per_second", "memory", "non_finite"})
      CHECK(lines[i][key].is_number());
    CHECK(lines[i]["skipped"] == false);
  }
  CHECK(trained.json()["grad_norm"] == lines.back()["grad_norm"]);
  const auto more = run(train(scratch.path() / "more", {"--model", out.string(), "--steps", "3", "--json"}));
  INFO(more.err);
  REQUIRE(more.code == 0);
  CHECK(more.json()["first_loss"].get<double>() < 0.9 * trained.json()["first_loss"].get<double>());
}

TEST_CASE("train has PyTorch's names for its options, and a line of its log these keys in this order",
          "[train]") {
  const Scratch scratch;
  const fs::path log = scratch.path() / "log.jsonl";
  const auto trained = run(train(scratch.path() / "out", {"--policy",
                                                          "amp-f16",
                                                          "--steps",
                                                          "2",
                                                          "--lr",
                                                          "1e-2",
                                                          "--betas",
                                                          "0.8,0.9",
                                                          "--eps",
                                                          "1e-7",
                                                          "--weight-decay",
                                                          "0.1",
                                                          "--clip",
                                                          "1",
                                                          "--warmup",
                                                          "1",
                                                          "--schedule",
                                                          "cosine",
                                                          "--seed",
                                                          "3",
                                                          "--init-scale",
                                                          "1024",
                                                          "--growth-factor",
                                                          "4",
                                                          "--backoff-factor",
                                                          "0.25",
                                                          "--growth-interval",
                                                          "1",
                                                          "--log",
                                                          log.string()}));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  std::istringstream text(program::content(log));
  std::vector<nlohmann::ordered_json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::ordered_json::parse(line));
  REQUIRE(lines.size() == 2);
  for (const auto& line : lines) {
    Words keys;
    for (const auto& [key, value] : line.items()) keys.push_back(key);
    CHECK(keys == Words{"step", "loss", "grad_norm", "scale", "skipped", "lr", "tokens_per_second", "memory",
                        "non_finite"});
  }
  CHECK(lines[0]["scale"] == 1024);
  CHECK(lines[1]["scale"] == 4096);  // grown after each step
}

TEST_CASE("a training run that is killed goes on with the bits of one that was not", "[train]") {
  const Scratch scratch;
  const fs::path killed = scratch.path() / "killed", whole = scratch.path() / "whole";
  program::run_until(program::exists(killed / "checkpoint.safetensors"), "KILL",
                     train(killed, {"--policy", "amp-f16", "--checkpoint-every", "7", "--steps", "1000000"}));
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

TEST_CASE("train refuses what --batches has otherwise, and a context that its model does not read",
          "[train]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "batches.safetensors").string();
  precast::io::SafetensorsWriter writer(file);
  writer.declare("tokens", precast::DtypeInfo{"i64", 1, 8}, precast::Shape{2, 2, 9});
  const std::vector<std::int64_t> tokens(36, 1);
  writer.write(std::as_bytes(std::span(tokens)));
  writer.commit();
  const auto trained = [&](const Words& more) {
    return run(program::with(program::train_tiny({"--steps", "2", "--sample", "0", "--output",
                                                  (scratch.path() / "out").string(), "--batches", file}),
                             more));
  };
  const auto other = trained({"--batch", "4"});
  INFO(other.err);
  CHECK(other.code == 2);
  CHECK(other.one_line_error());
  CHECK_THAT(other.err, Catch::Contains("--batch is 4, and --batches has 2"));
  const auto narrow = trained({"--context", "4"});
  INFO(narrow.err);
  CHECK(narrow.code == 2);
  CHECK_THAT(narrow.err, Catch::Contains("larger --context"));
  CHECK(trained({"--batch", "2"}).code == 0);
  // A model that is there takes neither a text nor a length beside them.
  const std::string more = (scratch.path() / "more").string(), model = (scratch.path() / "out").string();
  const auto on = [&](const Words& words) {
    return run(program::with({"train", "--model", model, "--output", more, "--overwrite", "--quiet",
                              "--sample", "0", "--batches", file},
                             words));
  };
  CHECK(on({"--context", "8"}).code == 0);
  for (const auto& [words, says] : std::vector<std::pair<Words, std::string>>{
           {{"--context", "7"}, "--context is 7, and --batches has 8"},
           {{"--tokenizer", "bytes"}, "--tokenizer is bytes, and the model of --model has characters"},
           {{"--data", file}, "--data and --batches are both given"}}) {
    const auto refused = on(words);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(says));
  }
  const auto bytes = trained({"--tokenizer", "bytes", "--data", file, "--overwrite"});
  CHECK(bytes.code == 2);
  CHECK_THAT(bytes.err, Catch::Contains("--data and --batches are both given"));
  // A model whose tokenizer is not read here takes the place of one that had characters.
  const std::string foreign = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/language_models/tiny_gpt2";
  CHECK(fs::exists(fs::path(more) / "precast_tokenizer.json"));
  REQUIRE(run({"train", "--model", foreign, "--output", more, "--overwrite", "--quiet", "--batches", file})
              .code == 0);
  CHECK_FALSE(fs::exists(fs::path(more) / "precast_tokenizer.json"));
}

TEST_CASE("without --steps, --batches are trained on to their end", "[train]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "batches.safetensors").string();
  precast::io::SafetensorsWriter writer(file);
  writer.declare("tokens", precast::DtypeInfo{"i64", 1, 8}, precast::Shape{3, 2, 9});
  const std::vector<std::int64_t> tokens(54, 1);
  writer.write(std::as_bytes(std::span(tokens)));
  writer.commit();
  const fs::path out = scratch.path() / "out";
  const Words words =
      program::train_tiny({"--json", "--sample", "0", "--batches", file, "--output", out.string()});
  const auto steps_of = [&](const Words& more) {
    const auto trained = run(program::with(words, more));
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    return trained.json()["steps"].get<int>();
  };
  CHECK(steps_of({"--steps", "2"}) == 2);
  CHECK(steps_of({"--overwrite", "--checkpoint-every", "1", "--warmup", "3"}) == 3);
  // A run that goes on keeps the end that it was given.
  CHECK(steps_of({"--overwrite", "--steps", "1"}) == 1);
  const auto done = run(program::with(words, {"--resume"}));
  CHECK(done.code == 2);
  CHECK_THAT(done.err, Catch::Contains("--steps is 1"));
  const auto late = run(program::with(words, {"--overwrite", "--warmup", "4"}));
  CHECK(late.code == 2);
  CHECK_THAT(late.err, Catch::Contains("--warmup is 4, and --steps 3"));
  const auto compared = run(program::train_tiny({"--compare", "f32,bf16", "--batches", file, "--json"}));
  INFO(compared.err);
  REQUIRE(compared.code == 0);
  CHECK(compared.json()["runs"][1]["steps"] == 3);
  const auto predicted = run(program::train_tiny(
      {"--predict-ranks", "2", "--link-latency", "1", "--link-bandwidth", "1GB", "--batches", file}));
  INFO(predicted.err);
  CHECK(predicted.code == 2);
  CHECK(predicted.one_line_error());
  CHECK_THAT(predicted.err, Catch::Contains("times up to 48 steps, and --batches has 3"));
}

TEST_CASE("a run takes away what killed ones left in its folder, and nobody else's files", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const fs::path left = scratch.file("out/.precast-999999-7.tmp", "half a checkpoint"),
                 other = scratch.file("out/.precast-notes.tmp", "a file of somebody's");
  REQUIRE(run(train(out, {"--steps", "4", "--resume"})).code == 0);
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(other));
}

TEST_CASE("a run that ended before its model was written writes it when it goes on", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "4"})).code == 0);
  const std::string model = program::content(out / "model.safetensors");
  const auto done = run(train(out, {"--steps", "4", "--resume"}));
  CHECK(done.code == 2);
  CHECK_THAT(done.err, Catch::Contains("raise it"));
  // As a full disk or kill -9 after the last checkpoint leave it: without a model, or with an earlier one.
  const auto write_again = [&](const std::string& steps, const std::string& expected) {
    const auto written = run(train(out, {"--steps", steps, "--resume", "--json"}));
    INFO(written.err);
    REQUIRE(written.code == 0);
    CHECK(written.json()["steps"] == std::stoi(steps));
    CHECK(program::content(out / "model.safetensors") == expected);
  };
  fs::remove(out / "model.safetensors");
  write_again("4", model);
  REQUIRE(run(train(out, {"--steps", "6", "--resume"})).code == 0);
  const std::string later = program::content(out / "model.safetensors");
  REQUIRE(later != model);
  std::ofstream(out / "model.safetensors", std::ios::binary) << model;
  write_again("6", later);
  std::ofstream(out / "model.safetensors", std::ios::binary) << model.substr(0, model.size() / 2);
  write_again("6", later);
  CHECK(run(train(out, {"--steps", "6", "--resume"})).code == 2);
}

TEST_CASE("a checkpoint whose numbers make no sense is refused", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", checkpoint = out / "checkpoint.safetensors";
  REQUIRE(run(train(out, {"--steps", "3", "--policy", "amp-f16"})).code == 0);
  const std::string whole = program::content(checkpoint);
  const auto with = [&](const char* key, const std::string& value) {
    std::uint64_t size = 0;
    std::memcpy(&size, whole.data(), sizeof size);
    auto header = nlohmann::json::parse(whole.substr(sizeof size, size));
    const std::string tensors = whole.substr(sizeof size + size);
    header["__metadata__"][key] = value;
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    size = text.size();
    std::ofstream(checkpoint, std::ios::binary)
        << std::string_view(reinterpret_cast<const char*>(&size), sizeof size) << text << tensors;
  };
  for (const auto& [key, value] : {std::pair("step", "-1"),
                                   {"step", "3x"},
                                   {"step", "99999999999999999999"},
                                   {"optimiser_steps", "4"},
                                   {"scale", "nan"},
                                   {"scale", "-1"},
                                   {"scale", "1e39"},
                                   {"growth_tracker", "-5"},
                                   {"ranks", "0"},
                                   {"ranks", "-1"},
                                   {"windows", "-1"},
                                   {"policy", "f32"},
                                   {"kind", "x"},
                                   {"config", "{}"},
                                   {"settings", "[]"}}) {
    with(key, value);
    INFO(key << " = " << value);
    const std::string before = program::content(checkpoint);
    const auto refused = run(train(out, {"--steps", "6", "--resume"}));
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::StartsWith("precast: error: " + checkpoint.string() + ": "));
    CHECK(program::content(checkpoint) == before);
  }
  std::ofstream(checkpoint, std::ios::binary) << whole;
  CHECK(run(train(out, {"--steps", "6", "--resume"})).code == 0);
}

TEST_CASE("the log of a run that goes on has each step once", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", log = scratch.path() / "log.jsonl";
  REQUIRE(run(train(out, {"--steps", "6", "--log", log.string()})).code == 0);
  program::Outcome resumed = run(train(out, {"--steps", "9", "--log", log.string(), "--resume"}));
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  const auto lines = program::json_lines(log);
  REQUIRE(lines.size() == 9);
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]["step"] == i);
}

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

TEST_CASE("what a run that goes on lacks is named", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", tokenizer = out / "precast_tokenizer.json",
                 checkpoint = out / "checkpoint.safetensors";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  fs::remove(tokenizer);
  const auto mute = run(train(out, {"--steps", "4", "--resume"}));
  INFO(mute.err);
  CHECK(mute.one_line_error());
  CHECK_THAT(mute.err,
             Catch::Contains(tokenizer.string() + ": is not there") && Catch::Contains("--batches"));
  fs::remove(checkpoint);
  CHECK_THAT(run(train(out, {"--steps", "4", "--resume"})).err, Catch::Contains("nothing to go on from"));
  fs::create_symlink(checkpoint, checkpoint);  // there, and cannot be read, whoever runs this
  const auto circle = run(train(out, {"--steps", "4", "--resume"}));
  INFO(circle.err);
  CHECK(circle.one_line_error());
  CHECK_THAT(circle.err, Catch::Contains("checkpoint.safetensors: cannot be opened: Too many levels"));
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

TEST_CASE("a run that fails before its first checkpoint leaves the model of its folder as it was",
          "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string config = program::content(out / "config.json");
  const std::string log = (scratch.path() / "none" / "log.jsonl").string();
  CHECK(run(train(out, {"--steps", "2", "--architecture", "llama", "--overwrite", "--log", log})).code == 1);
  CHECK(program::content(out / "config.json") == config);
  REQUIRE(run(train(out, {"--steps", "2", "--architecture", "llama", "--overwrite"})).code == 0);
  CHECK(program::content(out / "config.json") != config);
}

TEST_CASE("train takes what f32 rounds to its least number", "[train]") {
  const Scratch scratch;
  const auto outcome = run(train(scratch.path() / "out", {"--steps", "2", "--clip", "1e-45"}));
  INFO(outcome.err);
  CHECK(outcome.code == 0);
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

TEST_CASE("a sample of bytes has no control characters for the terminal", "[train]") {
  const Scratch scratch;
  const auto trained =
      run(program::train_tiny({"--steps", "1", "--tokenizer", "bytes", "--context", "8", "--sample", "2000",
                               "--output", (scratch.path() / "out").string()}));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(trained.out.size() > 2000);
  CHECK(std::ranges::none_of(trained.out, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f;
  }));
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
  for (const char* rate : {"0", "-1", "1e30", "nan", "inf", "", "1e-3x"})
    refused({"--lr", rate}, 2,
            "--lr is '" + std::string(rate) + "': it takes a number above 0 and up to 1000");
  refused({"--lr", "1e-50"}, 2, "--lr is '1e-50', which f32 rounds to 0");
  refused({"--betas", "0.9"}, 2, "--betas is '0.9': it must read B1,B2");
  refused({"--betas", "1,0.9"}, 2, "the first of --betas is '1': it takes a number from 0 to below 1");
  refused({"--betas", "0.9,1"}, 2, "the second of --betas is '1': it takes a number from 0 to below 1");
  refused({"--betas", "0.9,"}, 2, "the second of --betas is ''");
  refused({"--betas", "0.9,0.99,0.999"}, 2, "--betas is '0.9,0.99,0.999': it must read B1,B2");
  refused({"--eps", "-1e-8"}, 2, "--eps is '-1e-8': it takes a number from 0 to 3.4e+38");
  refused({"--weight-decay", "-1"}, 2, "--weight-decay is '-1': it takes a number from 0 to 1000");
  refused({"--clip", "0"}, 2, "--clip is '0': it takes a number above 0 and up to 3.4e+38");
  refused({"--clip", "7e-46"}, 2, "--clip is '7e-46', which f32 rounds to 0");
  refused({"--warmup", "4", "--steps", "3"}, 2, "--warmup is 4, and --steps 3");
  refused({"--warmup", "-1"}, 2, "--warmup is '-1': it takes a whole number from 0 to 100000000");
  refused({"--steps", "0"}, 2, "--steps is '0': it takes a whole number from 1 to 100000000");
  refused({"--steps", "-3"}, 2, "--steps is '-3'");
  refused({"--growth-factor", "1"}, 2, "--growth-factor is '1': it takes a number above 1 and up to 1e+06");
  refused({"--growth-interval", "0"}, 2, "--growth-interval is '0': it takes a whole number from 1");
  for (const char* factor : {"0", "1"})
    refused({"--backoff-factor", factor}, 2,
            "--backoff-factor is '" + std::string(factor) + "': it takes a number above 0 and below 1");
  refused({"--init-scale", "0"}, 2, "--init-scale is '0': it takes a number above 0");
  refused({"--heads-kv", "1"}, 2, "--heads-kv");
  refused({"--policy", "f33"}, 2, "there is no training policy 'f33'");
  refused({"--policy", "naive-f16+flash"}, 2, "there is no training policy");
  refused({"--policy", "amp-f16+upcast-matmul"}, 1, "-DPRECAST_TRAINING=all");
  refused({"--compare", "f32,bf16"}, 2, "--output does not go with --compare");
  const auto of_text = run({"train", "--compare", "f32,bf16", "--sample", "5"});
  CHECK(of_text.code == 2);
  CHECK_THAT(of_text.err, Catch::Contains("--sample does not go with --compare"));
  const auto twice = run({"train", "--compare", "fast,bf16+flash"});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Catch::Contains("stands there already"));
  refused({"--compare", "f32", "--policy", "f32"}, 2, "--policy");
  refused({"--compare", "f32", "--resume"}, 2, "--resume");
  refused({"--compare", "f32", "--checkpoint-every", "2"}, 2, "--checkpoint-every");
  refused({"--resume", "--model", out.string()}, 2, "--model");
  refused({"--resume", "--overwrite"}, 2, "--overwrite");
  refused({"--batch", "0"}, 2, "--batch");
  refused({"--batch", "-1"}, 2, "--batch");
  refused({"--context", "1e9"}, 2, "--context");
  refused({"--schedule", "linear"}, 2, "--schedule");
  refused({"--report", "page.html"}, 2, "--compare");
  const std::string twice_written = (scratch.path() / "page.html").string();
  const auto one_name = run({"train", "--compare", "f32", "--log", twice_written, "--report", twice_written});
  CHECK(one_name.code == 2);
  CHECK_THAT(one_name.err, Catch::Contains("written twice"));
  refused({"--resume"}, 1, "nothing to go on from");
  refused({"--model", (scratch.path() / "nothing").string()}, 1, "config.json");
  const std::string other = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/language_models/tiny_gpt2/";
  scratch.file("config.json", program::content(other + "config.json"));
  fs::copy_file(other + "model.safetensors", scratch.path() / "model.safetensors");
  std::string letters;
  for (int i = 0; i < 2000; ++i) precast::image::append_utf8(letters, 0x4e00 + i);
  scratch.file("precast_tokenizer.json", "{\"characters\": \"" + letters + "\"}");
  refused({"--model", scratch.path().string()}, 1, "are not of one model");
  refused({"--model", ""}, 2, "--model is empty");
  refused({"--compare", ""}, 2, "--compare is empty");
  refused({"--log", "/dev/full"}, 1, "/dev/full");
  refused({"--log", "-"}, 2, "--log is '-', where the result is printed");
  for (const char* own : {"checkpoint.safetensors", "model.safetensors", "config.json"})
    refused({"--log", (out / own).string()}, 2, "written twice");
  for (const char* name : {"-", "/dev/stdout"}) {
    const auto shown = run({"train", "--compare", "f32", "--steps", "1", "--report", name});
    CHECK(shown.code == 2);
    CHECK(shown.out.empty());
    CHECK_THAT(shown.err, Catch::Contains("--report is '"));
  }
  refused({"--link-latency", "5"}, 2, "--predict-ranks");
  refused({"--ranks-per-machine", "2"}, 2, "--predict-ranks");
  const auto sizes = run({"train", "--width", "30", "--heads", "4", "--output", out.string()});
  CHECK(sizes.code == 2);
  CHECK_THAT(sizes.err, Catch::Contains("multiple of --heads"));
  CHECK(sizes.one_line_error());  // without --quiet, too
}

TEST_CASE("train refuses sizes that the model it goes on from has otherwise", "[train]") {
  const Scratch scratch;
  const fs::path first = scratch.path() / "first", second = scratch.path() / "second";
  const auto one = run(train(first, {"--steps", "1"}));
  REQUIRE(one.code == 0);
  CHECK_THAT(one.out, Catch::Contains(" in 1 step, "));
  const auto outcome = run({"train", "--model", first.string(), "--context", "8", "--layers", "3", "--steps",
                            "1", "--output", second.string()});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(outcome.one_line_error());
  CHECK_THAT(outcome.err, Catch::Contains("--layers is 3") && Catch::Contains("has 1"));
  CHECK_FALSE(fs::exists(second));
}

TEST_CASE("train does not write over a model unless it is told to", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string model = program::content(out / "model.safetensors");
  const auto again = run(train(out, {"--steps", "2", "--seed", "7"}));
  INFO(again.err);
  CHECK(again.code == 2);
  CHECK(again.one_line_error());
  CHECK_THAT(again.err, Catch::Contains("--resume") && Catch::Contains("--overwrite"));
  CHECK(program::content(out / "model.safetensors") == model);
  CHECK(run(train(out, {"--steps", "2", "--seed", "7", "--overwrite"})).code == 0);
  CHECK(program::content(out / "model.safetensors") != model);
  // A model in shards, as transformers writes large ones.
  const fs::path shards = scratch.path() / "shards";
  fs::create_directory(shards);
  std::ofstream(shards / "config.json") << "{}";
  const auto sharded = run(train(shards, {"--steps", "2"}));
  INFO(sharded.err);
  CHECK(sharded.code == 2);
  CHECK(sharded.one_line_error());
  CHECK(program::content(shards / "config.json") == "{}");
  for (const char* name : {"-", ""}) {
    const auto none = run({"train", "--steps", "2", "--output", name});
    INFO(none.err);
    CHECK(none.code == 2);
    CHECK(none.one_line_error());
    CHECK_THAT(none.err, Catch::Contains("the name of a folder"));
  }
  const auto file = run({"train", "--steps", "2", "--output", scratch.file("file", "text")});
  CHECK(file.code == 1);
  CHECK(file.one_line_error());
}

TEST_CASE("option --resume takes what is left out from its checkpoint", "[train]") {
  const Scratch scratch;
  const fs::path part = scratch.path() / "part", whole = scratch.path() / "whole";
  std::string letters;
  for (int i = 0; i < 40; ++i) letters += "to be or not to be, that is number " + std::to_string(i) + "; ";
  const Words run_of{"--lr",    "1e-2",         "--seed",   "5",      "--clip",
                     "0.5",     "--policy",     "fast",     "--data", scratch.file("text.txt", letters),
                     "--betas", "0.8,0.9",      "--warmup", "2",      "--weight-decay",
                     "0.1",     "--init-scale", "1024"};
  const auto with = [&](Words words) {
    words.insert(words.end(), run_of.begin(), run_of.end());
    return words;
  };
  REQUIRE(run(train(whole, with({"--steps", "9"}))).code == 0);
  REQUIRE(run(train(part, with({"--steps", "6"}))).code == 0);
  const auto resumed =
      run({"train", "--output", part.string(), "--resume", "--steps", "9", "--sample", "0", "--json"});
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK(resumed.json()["policy"] == "bf16+flash");
  for (const char* file : {"checkpoint.safetensors", "model.safetensors"})
    CHECK(program::content(part / file) == program::content(whole / file));
}

TEST_CASE("option --resume refuses what its checkpoint has otherwise, and names it", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", cosine = scratch.path() / "cosine";
  REQUIRE(run(train(out, {"--steps", "4"})).code == 0);
  REQUIRE(run(train(cosine, {"--steps", "4", "--schedule", "cosine"})).code == 0);
  const std::string before = program::content(out / "checkpoint.safetensors");
  const auto refused = [&](const fs::path& folder, const Words& more, const Words& named) {
    Words words{"train", "--output", folder.string(), "--resume", "--steps", "8"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.one_line_error());
    for (const std::string& name : named) CHECK_THAT(outcome.err, Catch::Contains(name));
    CHECK(program::content(out / "checkpoint.safetensors") == before);
  };
  refused(out, {"--lr", "0.01"}, {"--lr is 0.01, and was 0.001"});
  refused(out, {"--seed", "1"}, {"--seed is 1, and was 0"});
  refused(out, {"--batch", "3", "--layers", "2"}, {"--batch is 3, and was 2", "--layers is 2, and was 1"});
  refused(out, {"--clip", "1"}, {"--clip is 1, and was not given"});
  refused(out, {"--architecture", "llama"}, {"--architecture is llama, and was gpt2"});
  refused(out, {"--heads-kv", "2"}, {"--heads-kv is 2, and was not given"});
  refused(out, {"--policy", "amp-f16"}, {"--policy is amp-f16, and was f32"});
  refused(
      out,
      {"--data", scratch.file("other.txt", "Alice was beginning to get very tired of sitting by her sister")},
      {"the data are others"});
  refused(cosine, {}, {"--steps is 8, and was 4"});
  const auto ended = run({"train", "--output", cosine.string(), "--resume"});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("where the cosine ends: begin a run from that model with --model"));
  // Heads change no shape.
  std::string config = program::content(out / "config.json");
  const std::size_t at = config.find("\"n_head\": 2");
  REQUIRE(at != config.npos);
  std::ofstream(out / "config.json") << config.replace(at, 11, "\"n_head\": 4");
  const auto heads = run({"train", "--output", out.string(), "--resume", "--steps", "8"});
  INFO(heads.err);
  CHECK(heads.code == 1);
  CHECK(heads.one_line_error());
  CHECK_THAT(heads.err, Catch::Contains("another config.json"));
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
  CHECK_THAT(ended.err, Catch::Contains("--resume goes on from the checkpoint of step " + step));
  CHECK(program::json_lines(log).size() == std::stoul(step));
  const std::string steps = std::to_string(std::stoi(step) + 3);
  REQUIRE(run(train(out, {"--steps", steps, "--resume"})).code == 0);
  REQUIRE(run(train(whole, {"--steps", steps})).code == 0);
  CHECK(program::content(out / "model.safetensors") == program::content(whole / "model.safetensors"));
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
  CHECK_THAT(full.err, Catch::Contains("--resume goes on from the checkpoint of step " + step));
}

TEST_CASE("options of loss scaling that change nothing are told of", "[train]") {
  const Scratch scratch;
  const auto warned = [&](const Words& words) {
    const auto done = run(program::with(program::train_tiny({"--context", "8"}), words));
    INFO(done.err);
    CHECK(done.code == 0);
    return done.err;
  };
  const auto out = [&](const char* name) { return (scratch.path() / name).string(); };
  const Words scaled{"--steps", "1", "--init-scale", "4", "--growth-interval", "2"};
  CHECK(warned(program::with({"--policy", "bf16", "--output", out("bf16")}, scaled)) ==
        "precast: warning: --init-scale does nothing: the loss is not scaled under bf16\n"
        "precast: warning: --growth-interval does nothing: the loss is not scaled under bf16\n");
  CHECK(warned({"--policy", "bf16", "--output", out("bf16"), "--resume", "--steps", "2"}) == "");
  CHECK(warned(program::with({"--policy", "amp-f16", "--output", out("amp-f16")}, scaled)) == "");
  CHECK(warned(program::with({"--compare", "f32,amp-f16"}, scaled)) == "");
  CHECK_THAT(warned(program::with({"--compare", "f32,bf16"}, scaled)),
             Catch::Contains("--growth-interval does nothing: the loss is not scaled under any of these"));
}

TEST_CASE("train says which tensors of a model it does not read", "[train]") {
  const Scratch scratch;
  const fs::path two = scratch.path() / "two";
  const Words brief{"--steps", "1", "--batch", "2", "--context", "8", "--sample", "0", "--quiet"};
  REQUIRE(
      run(program::with({"train", "--layers", "2", "--width", "16", "--heads", "2", "--output", two.string()},
                        brief))
          .code == 0);
  const auto trained = [&](const char* name) {
    const auto done = run(program::with(
        {"train", "--model", two.string(), "--output", (scratch.path() / name).string()}, brief));
    CHECK(done.code == 0);
    return done.err;
  };
  CHECK(trained("both") == "");
  std::string config = program::content(two / "config.json");
  const std::string layers = "\"n_layer\": 2";
  config.replace(config.find(layers), layers.size(), "\"n_layer\": 1");
  scratch.file("two/config.json", config);
  CHECK(trained("one") ==
        "precast: warning: " + two.string() +
            ": 12 tensors are not read: 'transformer.h.1.attn.c_attn.bias', "
            "'transformer.h.1.attn.c_attn.weight', 'transformer.h.1.attn.c_proj.bias' and 9 "
            "more\n");
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
  const std::string notes = scratch.file("notes.txt", "not a log\n");
  const auto refused = run(train(out, {"--steps", "8", "--log", notes, "--resume"}));
  INFO(refused.err);
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Catch::Contains("is no log of precast train"));
  CHECK(program::content(notes) == "not a log\n");
}

TEST_CASE("a model or a batch that no machine holds is refused before it is taken", "[train]") {
  const Scratch scratch;
  const std::string out = (scratch.path() / "out").string();
  for (const Words& sizes : {Words{"--width", "131072", "--layers", "1024"},
                             Words{"--batch", "65536", "--context", "1048576", "--width", "64"}}) {
    Words words{"train", "--output", out};
    words.insert(words.end(), sizes.begin(), sizes.end());
    const auto refused = run(words);
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("takes at least") && Catch::Contains("try a smaller --width"));
    CHECK(refused.err.find("--preset") == std::string::npos);
    CHECK_FALSE(fs::exists(out));
  }
}

TEST_CASE("a checkpoint that is cut off is refused, and left as it is", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", checkpoint = out / "checkpoint.safetensors";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string whole = program::content(checkpoint);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(checkpoint, std::ios::binary) << whole.substr(0, size);
    const auto refused = run(train(out, {"--steps", "4", "--resume"}));
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err,
               Catch::Contains("checkpoint.safetensors: its " + std::to_string(size) +
                               " bytes are no whole checkpoint") &&
                   Catch::Contains("put an earlier copy in its place, or train again with --overwrite"));
    CHECK(fs::file_size(checkpoint) == size);
  }
  std::ofstream(checkpoint, std::ios::binary) << whole.substr(0, whole.size() / 2);
  CHECK(run(train(out, {"--steps", "2", "--overwrite"})).code == 0);
  CHECK(program::content(checkpoint) == whole);
}

TEST_CASE("train: what is trained on is not written over by its log or its page", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const std::string text = "some words, and some words again, and more", data = scratch.file("t.txt", text);
  REQUIRE(run(train(out, {"--data", data, "--steps", "1"})).code == 0);
  const auto refused = [](const Words& words, const std::string& file) {
    const std::string before = program::content(file);
    const auto outcome = run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.one_line_error());
    CHECK_THAT(outcome.err, Catch::Contains("is read by this command"));
    CHECK(program::content(file) == before);
  };
  refused(train(scratch.path() / "other", {"--data", data, "--log", data}), data);
  refused({"train", "--compare", "f32", "--steps", "1", "--data", data, "--report", data}, data);
  const std::string weights = (out / "model.safetensors").string();
  refused({"train", "--model", out.string(), "--data", data, "--log", weights, "--output",
           (scratch.path() / "other").string()},
          weights);
}
