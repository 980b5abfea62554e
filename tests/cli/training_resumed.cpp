// precast train --resume: from checkpoints as they are, cut off, and of other runs.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include <precast/io/safetensors.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::train;
using program::Words;
namespace fs = std::filesystem;

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
  REQUIRE(run(train(whole, {"--policy", "amp-f16", "--checkpoint-every", "7", "--steps", steps})).code == 0);
  for (const char* file : {"checkpoint.safetensors", "model.safetensors"})
    CHECK(program::content(killed / file) == program::content(whole / file));
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

TEST_CASE("a run that was killed as its first checkpoint appeared begins anew by the same command",
          "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string model = program::content(out / "model.safetensors"),
                    config = program::content(out / "config.json");
  for (const char* later : {"checkpoint.safetensors", "model.safetensors"}) fs::remove(out / later);
  const auto refused = [&](const program::Outcome& outcome) {
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.one_line_error());
    CHECK_THAT(outcome.err, Catch::Contains("--overwrite") && !Catch::Contains("--resume"));
    CHECK(program::content(out / "config.json") == config);
  };
  refused(run(train(out, {"--steps", "2", "--tokenizer", "bytes"})));
  scratch.file("out/model.safetensors.index.json", R"({"weight_map": {}})");  // config.json is of a model
  refused(run(train(out, {"--steps", "2"})));
  fs::remove(out / "model.safetensors.index.json");
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  CHECK(program::content(out / "model.safetensors") == model);
}

TEST_CASE("a run that was interrupted is a model to begin another from", "[train]") {
  const Scratch scratch;
  const fs::path cosine = scratch.path() / "cosine", more = scratch.path() / "more",
                 model = scratch.path() / "model";
  const std::string architecture = GENERATE("gpt2", "llama"), policy = GENERATE("f32", "naive-f16");
  CAPTURE(architecture, policy);
  const Words words{"--schedule", "cosine", "--lr",  "1e-2", "--steps",        "6",
                    "--policy",   policy,   "--eps", "1e-4", "--architecture", architecture};
  REQUIRE(run(train(cosine, words)).code == 0);
  // The values are those of the model that was written at the end.
  const auto begin_from = [&](const fs::path& folder, const fs::path& output) {
    const auto begun = run({"train", "--model", folder.string(), "--output", output.string(), "--steps", "2",
                            "--policy", policy, "--eps", "1e-4", "--context", "8", "--batch", "2", "--sample",
                            "0", "--quiet", "--overwrite"});
    INFO(begun.err);
    CHECK(begun.code == 0);
    return begun;
  };
  begin_from(cosine, model);
  fs::remove(cosine / "model.safetensors");
  CHECK(begin_from(cosine, more).err.empty());
  CHECK(program::content(more / "model.safetensors") == program::content(model / "model.safetensors"));
  // A config that the checkpoint was not written under, whose heads change no shape.
  std::string config = program::content(cosine / "config.json");
  const std::string eps =
      architecture == "llama" ? "\"rms_norm_eps\": 1e-06" : "\"layer_norm_epsilon\": 1e-05";
  REQUIRE(config.find(eps) != config.npos);
  config.replace(config.find(eps), eps.size(), eps + "1");
  scratch.file("cosine/config.json", config);
  const auto other = run({"train", "--model", cosine.string(), "--output", more.string(), "--overwrite"});
  INFO(other.err);
  CHECK(other.code == 1);
  CHECK(other.one_line_error());
  CHECK_THAT(other.err,
             Catch::Contains("checkpoint.safetensors: was written by a model of another config.json: "
                             "put the one back that it was trained with"));
}

TEST_CASE("a run that ended before its model was written writes it when it goes on", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train(out, {"--steps", "4"})).code == 0);
  const std::string model = program::content(out / "model.safetensors");
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
}

TEST_CASE("a script may resume a run that is done, which changes nothing", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const Words steps{"--steps", "4", "--log", (scratch.path() / "log").string()};
  REQUIRE(run(train(out, steps)).code == 0);
  const auto contents = [&] {
    std::string all = program::content(scratch.path() / "log");
    for (const auto& file : fs::directory_iterator(out)) all += program::content(file.path());
    return all;
  };
  const std::string before = contents();
  for (const Words& more : {Words{}, Words{"--steps", "4"}}) {
    const auto done = run(train(out, program::with(more, {"--resume"})));
    INFO(done.err);
    CHECK(done.code == 0);
    CHECK_THAT(done.out, Catch::Contains("was done before, at step 4") && Catch::Contains("raise --steps"));
  }
  CHECK(run(train(out, {"--resume", "--json"})).json()["steps"] == 4);
  CHECK(contents() == before);
  // Neither does one that is said to end sooner, though its model is not there.
  fs::remove(out / "model.safetensors");
  const auto sooner = run(train(out, {"--steps", "3", "--resume"}));
  CHECK(sooner.code == 2);
  CHECK(sooner.one_line_error());
  CHECK_THAT(sooner.err, Catch::Contains("the checkpoint is of step 4, and --steps is 3: raise it"));
  CHECK_FALSE(fs::exists(out / "model.safetensors"));
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
    header["__metadata__"].erase("checksum");  // as checkpoints were written before they had one
    if (*key) header["__metadata__"][key] = value;
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
                                   {"settings", "[]"},
                                   {"checksun", "0123456789abcdef"},
                                   {"settings", R"({"--steps": "3", "--lr": "0.0q1"})"}}) {
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
  with("", "");
  CHECK(run(train(out, {"--steps", "6", "--resume"})).code == 0);
}

TEST_CASE("a checkpoint in which a bit is another is refused, wherever that lies", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", checkpoint = out / "checkpoint.safetensors";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  const std::string whole = program::content(checkpoint);
  for (const std::size_t place : {whole.find("--weight-decay") + 22, whole.size() / 2, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[place] ^= 1;
    std::ofstream(checkpoint, std::ios::binary) << damaged;
    const auto refused = run(train(out, {"--steps", "4", "--resume"}));
    INFO(place << ": " << refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("are not a whole checkpoint: it was cut off or damaged"));
    CHECK(program::content(checkpoint) == damaged);
  }
  std::ofstream(checkpoint, std::ios::binary) << whole;
  CHECK(run(train(out, {"--steps", "4", "--resume"})).code == 0);
}

TEST_CASE("a log that lacks steps before those of a run that goes on is told of", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const std::string log = (scratch.path() / "log.jsonl").string();
  REQUIRE(run(train(out, {"--steps", "3", "--log", log})).code == 0);
  REQUIRE(run(train(out, {"--steps", "6", "--resume"})).code == 0);
  const auto resumed = run(train(out, {"--steps", "8", "--log", log, "--resume"}));
  CHECK(resumed.code == 0);
  CHECK(resumed.err == "precast: warning: " + log +
                           " ends with step 2, and the checkpoint is of step 6: the log lacks the steps "
                           "between\n");
  CHECK(program::json_lines(log).size() == 5);
  CHECK(run(train(out, {"--steps", "9", "--log", log, "--resume"})).err == "");
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

TEST_CASE("what a run that goes on lacks is named", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", tokenizer = out / "precast_tokenizer.json",
                 checkpoint = out / "checkpoint.safetensors";
  REQUIRE(run(train(out, {"--steps", "2"})).code == 0);
  fs::remove(tokenizer);
  const auto mute = run(train(out, {"--steps", "4", "--resume"}));
  INFO(mute.err);
  CHECK(mute.one_line_error());
  CHECK_THAT(mute.err, Catch::Contains(tokenizer.string() + ": is missing") && Catch::Contains("--batches"));
  fs::remove(checkpoint);
  CHECK_THAT(run(train(out, {"--steps", "4", "--resume"})).err, Catch::Contains("nothing to resume"));
  fs::create_symlink(checkpoint, checkpoint);  // there, and cannot be read, whoever runs this
  const auto circle = run(train(out, {"--steps", "4", "--resume"}));
  INFO(circle.err);
  CHECK(circle.one_line_error());
  CHECK_THAT(circle.err, Catch::Contains("checkpoint.safetensors: cannot be opened: Too many levels"));
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

TEST_CASE("option --resume keeps how often its run writes a checkpoint, unless it is given another",
          "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const auto kept = [&](const Words& words) {
    const auto done = run(train(out, words));
    INFO(done.err);
    CHECK(done.code == 0);
    const precast::io::SafetensorsFile file(out / "checkpoint.safetensors");
    return nlohmann::json::parse(file.metadata().at("settings"))["--checkpoint-every"].get<std::string>();
  };
  CHECK(kept({"--steps", "2", "--checkpoint-every", "3"}) == "3");
  CHECK(kept({"--steps", "3", "--resume"}) == "3");
  CHECK(kept({"--steps", "4", "--resume", "--checkpoint-every", "5"}) == "5");
  CHECK(kept({"--steps", "4", "--overwrite"}) == "50");
}

TEST_CASE("a run that goes on says from which step on it tells", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const auto begun = run(train(out, {"--steps", "4", "--json"}));
  REQUIRE(begun.code == 0);
  CHECK(begun.json()["first_step"] == 0);
  const auto log = scratch.path() / "log.jsonl";
  const auto resumed = run(train(out, {"--steps", "6", "--resume", "--json", "--log", log.string()}));
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK(resumed.json()["steps"] == 6);
  CHECK(resumed.json()["first_step"] == 4);
  CHECK(resumed.json()["first_loss"] == program::json_lines(log).front()["loss"]);
  const auto again = run(train(out, {"--steps", "7", "--resume"}));
  CHECK_THAT(again.out, Catch::Contains(" in 1 step from step 6 on, "));
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
      {"the data differ"});
  refused(cosine, {}, {"--steps is 8, and was 4"});
  const auto ended = run({"train", "--output", cosine.string(), "--resume"});
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("the cosine ends there") && Catch::Contains("with --model"));
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
                               " bytes are not a whole checkpoint") &&
                   Catch::Contains("put an earlier copy in its place, or train again with --overwrite"));
    CHECK(fs::file_size(checkpoint) == size);
  }
  std::ofstream(checkpoint, std::ios::binary) << whole.substr(0, whole.size() / 2);
  CHECK(run(train(out, {"--steps", "2", "--overwrite"})).code == 0);
  CHECK(program::content(checkpoint) == whole);
}
