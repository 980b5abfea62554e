// precast train as a user runs it: what it writes, and what it tells.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/io/safetensors.hpp>
#include <precast/io/safetensors_writer.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::train;
using program::Words;
namespace fs = std::filesystem;

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

TEST_CASE("a model that reads fewer tokens than windows usually have is trained on by its name alone",
          "[train]") {
  const Scratch scratch;
  const fs::path small = scratch.path() / "small", more = scratch.path() / "more";
  REQUIRE(run(train(small, {"--steps", "1"})).code == 0);  // --context 8
  const Words words{"train",   "--model", small.string(), "--output", more.string(),
                    "--steps", "1",       "--sample",     "0",        "--quiet"};
  const auto trained = run(words);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const precast::io::SafetensorsFile checkpoint(more / "checkpoint.safetensors");
  CHECK_THAT(checkpoint.metadata().at("settings"), Catch::Contains("\"--context\": \"8\""));
  const auto refused = run(program::with(words, {"--overwrite", "--context", "64"}));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("the context is 64 tokens, and the model reads 8"));
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
  CHECK(steps_of({"--resume"}) == 1);
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

TEST_CASE("train copies the tokenizer that lies beside its model", "[train]") {
  const Scratch scratch;
  const fs::path model = scratch.path() / "model", out = scratch.path() / "out";
  REQUIRE(run(train(model, {"--steps", "1"})).code == 0);
  // GPT-2s were trained with BERT's tokenizer, T5's and others.
  const Words names{"tokenizer.json",
                    "merges.txt",
                    "vocab.txt",
                    "spiece.model",
                    "sentencepiece.bpe.model",
                    "additional_chat_templates/tools.jinja",
                    "generation_config.json"};
  fs::create_directory(model / "additional_chat_templates");
  for (const std::string& name : program::with(names, {"notes.txt", "additional_chat_templates/notes.txt"}))
    scratch.file("model/" + name, "what is in " + name);
  const auto trained = run(train(out, {"--model", model.string(), "--steps", "1"}));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const auto has_them = [&] {
    for (const std::string& name : names) {
      INFO(name);
      CHECK(program::content(out / name) == "what is in " + name);
    }
  };
  has_them();
  CHECK_FALSE(fs::exists(out / "notes.txt"));
  CHECK_FALSE(fs::exists(out / "additional_chat_templates" / "notes.txt"));
  CHECK(run(train(out, {"--model", out.string(), "--steps", "1", "--overwrite"})).code == 0);
  has_them();
  // In the place of that model, another has none of its files.
  CHECK(run(train(out, {"--steps", "1", "--overwrite"})).code == 0);
  for (const std::string& name : names) CHECK_FALSE(fs::exists(out / name));
  CHECK_FALSE(fs::exists(out / "additional_chat_templates"));
}

namespace {

/// The model of a folder in two shards and their index, as transformers writes large ones.
void split_into_shards(const fs::path& folder) {
  {
    const precast::io::SafetensorsFile whole(folder / "model.safetensors");
    nlohmann::json index;
    for (const std::size_t shard : {0, 1}) {
      const std::string name = "model-0000" + std::to_string(shard + 1) + "-of-00002.safetensors";
      precast::io::SafetensorsWriter writer(folder / name);
      std::vector<const precast::io::TensorEntry*> kept;
      for (std::size_t i = shard; i < whole.tensors().size(); i += 2) kept.push_back(&whole.tensors()[i]);
      for (const auto* tensor : kept) {
        writer.declare(tensor->name, tensor->dtype.info, tensor->shape);
        index["weight_map"][tensor->name] = name;
      }
      for (const auto* tensor : kept) writer.write(tensor->bytes);
      writer.commit();
    }
    std::ofstream(folder / "model.safetensors.index.json") << index;
  }
  fs::remove(folder / "model.safetensors");
}

}  // namespace

TEST_CASE("a model in shards stays until the one in its place is there, and goes then", "[train]") {
  const Scratch scratch;
  const fs::path shards = scratch.path() / "shards", more = scratch.path() / "more",
                 other = scratch.path() / "other";
  REQUIRE(run(train(shards, {"--steps", "1"})).code == 0);
  fs::remove(shards / "checkpoint.safetensors");
  split_into_shards(shards);
  const std::set<std::string> of_shards = program::names_in(shards);
  scratch.file("shards/model-00001-of-00002.safetensors.txt", "a file of somebody's");
  const std::set<std::string> of_one{"checkpoint.safetensors", "config.json", "model.safetensors",
                                     "model-00001-of-00002.safetensors.txt", "precast_tokenizer.json"};
  fs::copy(shards, other);

  const auto trained = [&](const fs::path& output, const std::string& steps, const Words& words) {
    return train(output, program::with({"--model", shards.string(), "--steps", steps}, words));
  };
  const auto refused = run(trained(shards, "2", {}));
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("--overwrite"));
  program::run_until(program::exists(shards / "checkpoint.safetensors"), "KILL",
                     trained(shards, "1000000", {"--overwrite", "--checkpoint-every", "1"}));
  for (const std::string& name : of_shards) CHECK(fs::exists(shards / name));
  REQUIRE(run(trained(more, "2", {})).code == 0);
  REQUIRE(run(trained(shards, "2", {"--overwrite"})).code == 0);
  CHECK(program::content(shards / "model.safetensors") == program::content(more / "model.safetensors"));
  CHECK(program::names_in(shards) == of_one);

  // Of a new model, in the place of shards whose index lies.
  scratch.file("other/model.safetensors.index.json",
               R"({"weight_map": {"a": "../kept", "b": "model-00001-of-00002.safetensors.txt"}})");
  scratch.file("kept", "a file of somebody's");
  fs::remove(other / "config.json");
  CHECK(run(train(other, {"--steps", "1"})).code == 2);
  REQUIRE(run(train(other, {"--steps", "1", "--overwrite"})).code == 0);
  CHECK(program::names_in(other) == of_one);
  CHECK(fs::exists(scratch.path() / "kept"));
}

TEST_CASE("a disk that is full as a tokenizer is copied leaves nothing of a run", "[train]") {
  const Scratch scratch;
  const fs::path model = scratch.path() / "model", out = scratch.path() / "out";
  REQUIRE(run(train(model, {"--steps", "1"})).code == 0);
  fs::create_directory(model / "additional_chat_templates");
  scratch.file("model/additional_chat_templates/tools.jinja", "{{ tools }}");
  const auto full = run(train(out, {"--model", model.string(), "--steps", "1"}), "ulimit -f 16;");
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("train says which tensors of --batches it does not read", "[train]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "batches.safetensors").string();
  precast::io::SafetensorsWriter writer(file);
  const std::vector<std::int64_t> values(18, 1);
  for (const char* name : {"labels", "tokens"})
    writer.declare(name, precast::DtypeInfo{"i64", 1, 8}, precast::Shape{1, 2, 9});
  for (int i = 0; i < 2; ++i) writer.write(std::as_bytes(std::span(values)));
  writer.commit();
  const auto trained = run(train(scratch.path() / "out", {"--batches", file}));
  CHECK(trained.code == 0);
  CHECK_THAT(trained.err, Catch::Contains("batches.safetensors: 1 tensor is not read: 'labels'"));
}

TEST_CASE("train takes what f32 rounds to its least number", "[train]") {
  const Scratch scratch;
  const auto outcome = run(train(scratch.path() / "out", {"--steps", "2", "--clip", "1e-45"}));
  INFO(outcome.err);
  CHECK(outcome.code == 0);
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
      run(program::train_tiny({"--steps", "1", "--tokenizer", "bytes", "--context", "8", "--sample", "4000",
                               "--seed", "2", "--output", (scratch.path() / "out").string()}));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(trained.out.size() > 4000);
  CHECK(std::ranges::none_of(trained.out, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f;
  }));
  const auto is_upper_control = [](char first, char second) {
    const auto byte = static_cast<unsigned char>(second);
    return first == '\xc2' && byte >= 0x80 && byte < 0xa0;
  };
  CHECK(std::ranges::adjacent_find(trained.out, is_upper_control) == trained.out.end());
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

TEST_CASE("options of several ranks change nothing of one, and a line says so", "[train]") {
  const Scratch scratch;
  const std::string out = (scratch.path() / "out").string();
  const Words ranks{"--bucket-size", "1MiB", "--all-reduce-precision", "bf16"};
  const std::string warnings =
      "precast: warning: --all-reduce-precision does nothing: there is one rank, and no gradients are "
      "exchanged\n"
      "precast: warning: --bucket-size does nothing: there is one rank, and no gradients are exchanged\n";
  CHECK(run(program::with(program::train(out, {"--steps", "1"}), ranks)).err == warnings);
  CHECK(run(program::train(out, {"--steps", "2", "--resume"})).err == "");
  CHECK(run(program::with(program::train_tiny({"--context", "8", "--steps", "1", "--compare", "f32,bf16"}),
                          ranks))
            .err == warnings);
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
