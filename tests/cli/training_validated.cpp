// precast train --validation: the loss of what a model is not trained on.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

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

const std::string held_out_words =
    "The rabbit took a watch out of its pocket, and looked at it, and then hurried on. It";

/// The windows of `context` tokens of a text's bytes, one after another, as a file of --batches: one step of
/// all.
std::string file_of_windows(const Scratch& scratch, const std::string& text, std::int64_t context) {
  std::vector<std::int64_t> tokens;
  std::int64_t count = 0;
  const auto step = static_cast<std::size_t>(context);
  for (std::size_t first = 0; first + step < text.size(); first += step, ++count)
    for (const char c : text.substr(first, step + 1)) tokens.push_back(c);
  const std::string file =
      (scratch.path() / ("windows_of_" + std::to_string(context) + ".safetensors")).string();
  precast::io::SafetensorsWriter writer(file);
  writer.declare("tokens", precast::DtypeInfo{"i64", 1, 8}, precast::Shape{1, count, context + 1});
  writer.write(std::as_bytes(std::span(tokens)));
  writer.commit();
  return file;
}

}  // namespace

TEST_CASE("train tells the loss of a text that is held out, and trains as without it", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", plain = scratch.path() / "plain",
                 log = scratch.path() / "log.jsonl";
  const std::string held_out = scratch.file("held_out.txt", held_out_words);
  const Words more{"--tokenizer", "bytes", "--steps", "7", "--lr", "1e-2"};
  const auto trained = run(train(out, program::with(more, {"--validation", held_out, "--validate-every", "3",
                                                           "--log", log.string(), "--json"})));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const auto lines = program::json_lines(log);
  REQUIRE(lines.size() == 7);
  for (std::size_t i = 0; i < lines.size(); ++i)
    CHECK(lines[i].contains("validation_loss") == (i == 2 || i == 5 || i == 6));
  CHECK(lines[6]["validation_loss"].get<double>() < lines[2]["validation_loss"].get<double>());
  CHECK(trained.json()["validation_loss"] == lines[6]["validation_loss"]);
  const auto without = run(train(plain, program::with(more, {"--json"})));
  REQUIRE(without.code == 0);
  CHECK(without.json()["validation_loss"].is_null());
  CHECK(program::content(out / "model.safetensors") == program::content(plain / "model.safetensors"));
  // It is the loss that the trained model has of the same windows, two at a time or all at once, and of the
  // last one, which is shorter.
  const auto loss_of = [&](const std::string& windows) {
    const auto told = run({"train", "--model", out.string(), "--batches", windows, "--validation", windows,
                           "--lr", "1e-30", "--output", (scratch.path() / "again").string(), "--overwrite",
                           "--json", "--quiet", "--sample", "0"});
    INFO(told.err);
    REQUIRE(told.code == 0);
    const double loss = told.json()["first_loss"].get<double>();
    CHECK(told.json()["validation_loss"].get<double>() == Approx(loss).epsilon(1e-6));
    return loss;
  };
  REQUIRE(held_out_words.size() == 10 * 8 + 4);
  const double whole = loss_of(file_of_windows(scratch, held_out_words, 8)),
               last = loss_of(file_of_windows(scratch, held_out_words.substr(10 * 8), 3));
  CHECK(std::fabs(whole - last) > 1e-3);
  CHECK(lines[6]["validation_loss"].get<double>() == Approx((80 * whole + 3 * last) / 83).epsilon(1e-6));
}

TEST_CASE("a run that goes on tells the loss of what was held out, or of other windows", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const std::string held_out = scratch.file("held_out.txt", held_out_words),
                    other = scratch.file("other.txt", held_out_words.substr(3));
  // Characters that the text alone has, which is not trained on, are the model's, too.
  const std::string data = scratch.file("data.txt", "abc abc abc abc abc abc");
  const auto first = run(train(out, {"--data", data, "--steps", "2", "--validation", held_out}));
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.out, Catch::Contains("\nvalidation loss "));
  const auto second = run(train(out, {"--steps", "3", "--resume", "--json"}));
  INFO(second.err);
  REQUIRE(second.code == 0);
  CHECK(second.json()["validation_loss"].is_number());
  const auto third = run(train(out, {"--steps", "4", "--resume", "--json", "--validation", other}));
  INFO(third.err);
  REQUIRE(third.code == 0);
  CHECK(third.json()["validation_loss"] != second.json()["validation_loss"]);
}

TEST_CASE("a comparison tells each policy's loss of what is held out", "[train]") {
  const Scratch scratch;
  const std::string held_out = scratch.file("held_out.txt", held_out_words),
                    page = (scratch.path() / "page.html").string();
  const Words words{"--compare", "f32,bf16", "--steps", "3", "--validation", held_out};
  const auto compared = run(program::train_tiny(program::with(words, {"--report", page})));
  INFO(compared.err);
  REQUIRE(compared.code == 0);
  CHECK_THAT(compared.out, Catch::Contains("validation loss"));
  CHECK_THAT(program::content(page), Catch::Contains("<h2>Validation loss</h2>"));
  const auto json = run(program::train_tiny(program::with(words, {"--json"}))).json();
  for (const auto& one : json["runs"]) CHECK(one["validation_loss"].is_number());
  const auto without = run(program::train_tiny({"--compare", "f32", "--steps", "1"}));
  CHECK_THAT(without.out, !Catch::Contains("validation loss"));
}

TEST_CASE("what a model cannot be judged by is refused in one line", "[train]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const auto refused = [&](const Words& more, int code, const std::string& words) {
    program::check_training_refused(out, more, code, words);
  };
  const std::string held_out = scratch.file("held_out.txt", held_out_words);
  refused({"--validation", ""}, 2, "--validation is empty");
  refused({"--validation", scratch.file("empty.txt", "")}, 1, "is empty: give a text, or leave out");
  refused({"--validation", scratch.file("short.txt", "brief")}, 1, "fewer than the 9");
  refused({"--validation", scratch.file("latin.txt", "caf\xe9 au lait")}, 1, "latin.txt: byte 3");
  refused({"--validation", (scratch.path() / "none").string()}, 1, "none");
  refused({"--validation", scratch.file("text.safetensors", held_out_words)}, 1, "text.safetensors");
  refused({"--validate-every", "2"}, 2, "--validate-every needs --validation");
  refused({"--validation", held_out, "--validate-every", "0"}, 2, "--validate-every");
  refused({"--validation", held_out, "--log", held_out}, 2, "is read by this command");
  const auto predicted = run({"train", "--predict-ranks", "2", "--link-latency", "5", "--link-bandwidth",
                              "1GB", "--validation", held_out});
  CHECK_THAT(predicted.err, Catch::Contains("--validation cannot be combined with --predict-ranks"));
}
