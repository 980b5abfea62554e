// What precast train refuses: data, batches, sizes, and what it would write over.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <image/unicode.hpp>

#include <precast/io/safetensors.hpp>
#include <precast/io/safetensors_writer.hpp>

#include "check_training_refused.hpp"
#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::train;
using program::Words;
namespace fs = std::filesystem;

namespace {

/// A file of --batches, all of the token 1.
void write_batches(const std::string& file, const precast::Shape& shape) {
  precast::io::SafetensorsWriter writer(file);
  writer.declare("tokens", precast::DtypeInfo{"i64", 1, 8}, shape);
  const std::vector<std::int64_t> tokens(static_cast<std::size_t>(shape.elements()), 1);
  writer.write(std::as_bytes(std::span(tokens)));
  writer.commit();
}

}  // namespace

TEST_CASE("train refuses what --batches has otherwise, and a context that its model does not read",
          "[train]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "batches.safetensors").string();
  write_batches(file, {2, 2, 9});
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
  // And one of characters that of such a model, with all that transformers reads beside it.
  for (const char* name : {"more/tokenizer.json", "more/generation_config.json", "more/notes.txt"})
    scratch.file(name, "{}");
  REQUIRE(run({"train", "--steps", "1", "--layers", "1", "--width", "16", "--heads", "2", "--context", "8",
               "--output", more, "--overwrite", "--quiet"})
              .code == 0);
  CHECK(fs::exists(fs::path(more) / "precast_tokenizer.json"));
  CHECK_FALSE(fs::exists(fs::path(more) / "tokenizer.json"));
  CHECK_FALSE(fs::exists(fs::path(more) / "generation_config.json"));
  CHECK(fs::exists(fs::path(more) / "notes.txt"));
}

TEST_CASE("train refuses what cannot be trained on, in one line each", "[train]") {
  const Scratch scratch;
  const std::string empty = scratch.file("empty.txt", ""), brief = scratch.file("short.txt", "abc"),
                    latin = scratch.file("latin.txt", "caf\xe9 au lait and more of it");
  const fs::path out = scratch.path() / "out";
  const auto refused = [&](const Words& more, int code, const std::string& words) {
    program::check_training_refused(out, more, code, words);
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
  refused(
      {"--policy", "naive-f16+flash"}, 2,
      "there is no training policy 'naive-f16+flash': name one of f32, naive-f16, amp-f16, amp-bf16, bf16, "
      "f16, fp8, or a preset, then any of +upcast-attention, +upcast-matmul, and +flash or +no-flash, "
      "each once (naive-f16 takes none of them)");
  refused({"--policy", "amp-f16+upcast-matmul"}, 1, "-DPRECAST_TRAINING=all");
  refused({"--compare", "f32,bf16"}, 2, "--output cannot be combined with --compare");
  const auto of_text = run({"train", "--compare", "f32,bf16", "--sample", "5"});
  CHECK(of_text.code == 2);
  CHECK_THAT(of_text.err, Catch::Contains("--sample cannot be combined with --compare"));
  const auto twice = run({"train", "--compare", "fast,bf16+flash"});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Catch::Contains("is listed already"));
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
  refused({"--resume"}, 1, "nothing to resume");
  refused({"--model", (scratch.path() / "nothing").string()}, 1, "config.json");
  const std::string other = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/language_models/tiny_gpt2/";
  scratch.file("config.json", program::content(other + "config.json"));
  fs::copy_file(other + "model.safetensors", scratch.path() / "model.safetensors");
  std::string letters;
  for (int i = 0; i < 2000; ++i) precast::image::append_utf8(letters, 0x4e00 + i);
  scratch.file("precast_tokenizer.json", "{\"characters\": \"" + letters + "\"}");
  refused({"--model", scratch.path().string()}, 1, "belong to different models");
  refused({"--model", ""}, 2, "--model is empty");
  refused({"--compare", ""}, 2, "--compare is empty");
  refused({"--log", "/dev/full"}, 1, "/dev/full");
  refused({"--log", "-"}, 2, "--log is '-', where the result is printed");
  for (const std::string input : {"--data", "--batches", "--validation"})
    refused({input, "-"}, 2, input + " is '-', and standard input is not read");
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
  for (const Words& useless : std::vector<Words>{{"--output", out.string()},
                                                 {"--sample", "0"},
                                                 {"--checkpoint-every", "3"},
                                                 {"--overwrite"},
                                                 {"--log", (out / "log").string()},
                                                 {"--resume"},
                                                 {"--compare", "f32"}}) {
    const auto predicted = run(program::with(
        {"train", "--predict-ranks", "2", "--link-latency", "5", "--link-bandwidth", "1GB"}, useless));
    INFO(predicted.err);
    CHECK(predicted.code == 2);
    CHECK(predicted.one_line_error());
    CHECK_THAT(predicted.err, Catch::Contains(useless.front() + " cannot be combined with --predict-ranks"));
  }
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

TEST_CASE("a model of 256 tokens is one of bytes where it has no other tokenizer", "[train]") {
  const Scratch scratch;
  const fs::path first = scratch.path() / "first", second = scratch.path() / "second";
  REQUIRE(run(train(first, {"--steps", "1", "--tokenizer", "bytes"})).code == 0);
  fs::remove(first / "precast_tokenizer.json");
  const Words on{"train", "--model", first.string(), "--context",    "8", "--batch", "2", "--steps",
                 "1",     "--quiet", "--output",     second.string()};
  for (const char* name : {"tokenizer.json", "vocab.txt", "spiece.model"}) {
    const fs::path file = scratch.file(std::string("first/") + name, "{}");
    const auto outcome = run(on);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.one_line_error());
    CHECK_THAT(outcome.err, Catch::Contains("give its tokens by --batches"));
    fs::remove(file);
  }
  CHECK(run(on).code == 0);
}

TEST_CASE("a model without any tokenizer is not said to have one", "[train]") {
  const Scratch scratch;
  const fs::path first = scratch.path() / "first";
  REQUIRE(run(train(first, {"--steps", "1"})).code == 0);
  fs::remove(first / "precast_tokenizer.json");
  const auto outcome = run(
      Words{"train", "--model", first.string(), "--quiet", "--output", (scratch.path() / "second").string()});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(outcome.one_line_error());
  CHECK_THAT(outcome.err, Catch::Contains("--model has no tokenizer that precast reads"));
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

TEST_CASE("two runs do not write to one folder at once", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  // The first goes on until it hears that the second has ended.
  const std::string first =
      program::quoted(PRECAST_PROGRAM) +
      " train --width 16 --heads 2 --layers 1 --batch 2 --context 8 --quiet --steps 100000000"
      " --output " +
      program::quoted(out.string());
  const auto second = run(program::train(out, {"--steps", "2", "--overwrite"}),
                          program::heard + " " + first + " >/dev/null 2>&1 & until " +
                              program::exists(out / "checkpoint.safetensors") + "; do sleep 0.02; done;",
                          "; c=$?; kill -TERM $!; wait $!; [ $? -eq 143 ] && exit $c");
  INFO(second.err);
  CHECK(second.code == 1);
  CHECK(second.one_line_error());
  CHECK_THAT(second.err,
             Catch::StartsWith("precast: error: " + out.string() + ": another run is writing there"));
  CHECK(run(program::train(out, {"--steps", "2", "--overwrite"})).code == 0);
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
  if (program::sanitized) return;
  const std::string batches = (scratch.path() / "batches.safetensors").string();
  write_batches(batches, {1, 800, 1001});
  const auto refused = run({"train", "--output", out, "--batches", batches, "--layers", "17", "--width", "64",
                            "--context", "1000"},
                           "ulimit -v 8000000;");
  INFO(refused.err);
  CHECK(refused.code == 1);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains("with 800,000 tokens a step, takes at least") &&
                              Catch::Contains("try --batches of fewer tokens a step"));
  CHECK_FALSE(fs::exists(out));
  // Of 25 million parameters in f32 gradients and both moments too, which are there after the first step.
  for (const char* const limit : {"ulimit -v 600000;", "ulimit -v 740000;"}) {
    const auto grown = run({"train", "--output", out, "--layers", "8", "--width", "512", "--batch", "4",
                            "--context", "128", "--policy", "f32"},
                           limit);
    INFO(grown.err);
    CHECK(grown.code == 1);
    CHECK(grown.one_line_error());
    CHECK_THAT(grown.err, Catch::Contains("takes at least") && Catch::Contains("try a smaller --width"));
  }
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("train: what is trained on is not written over by its log, its page or the model", "[train]") {
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
  for (const char* name : {"config.json", "precast_tokenizer.json", "model.safetensors"}) {
    const std::string inside = scratch.file(std::string("made/") + name, text);
    refused(train(scratch.path() / "made", {"--data", inside, "--steps", "1", "--overwrite"}), inside);
  }
  // The data that the checkpoint names; a shard is a model's file, too.
  refused({"train", "--output", out.string(), "--resume", "--steps", "2", "--log", data}, data);
  const std::string shard = scratch.file("out/model-00001-of-00002.safetensors", "a shard");
  refused({"train", "--model", out.string(), "--data", data, "--log", shard, "--output",
           (scratch.path() / "other").string()},
          shard);
}
