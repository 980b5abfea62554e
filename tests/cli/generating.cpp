// generate, compare and tokenize on a small model, as a user runs them.
#include <array>
#include <set>

#include <catch2/catch.hpp>
#include <cli/running/latents_file.hpp>
#include <image/picture_file.hpp>

#include "given.hpp"
#include "program.hpp"

using program::names_in;
using program::run;
using program::Scratch;
using program::small_flux;
namespace fs = std::filesystem;

namespace {

/// A small run of the small model; more arguments follow.
std::vector<std::string> generate(const std::vector<std::string>& more) {
  return program::with({"generate", "--model", small_flux, "--width", "32", "--height", "16", "--steps", "2",
                        "--max-sequence-length", "8"},
                       more);
}

}  // namespace

TEST_CASE("generate: the device is the one that was asked for, or an error says why not") {
  const Scratch scratch;
  const std::string output = scratch.path().string() + "/p.png";
  const auto on = [&](const std::string& device) {
    return run(generate({"--prompt", "a ring", "--output", output, "--json", "--device", device}));
  };
  const auto cpu = on("cpu");
  INFO(cpu.err);
  REQUIRE(cpu.code == 0);
  CHECK(cpu.json()["device"] == "cpu");
  fs::remove(output);
  for (const std::string device : {"cuda:99", "tpu", "cuda:", "cuda:-1", "cuda:1x"}) {
    const auto missing = on(device);
    INFO(missing.err);
    CHECK(missing.code != 0);
    CHECK(missing.one_line_error());
    CHECK(missing.err.find(device) != std::string::npos);
    CHECK_FALSE(fs::exists(output));
  }
}

TEST_CASE("generate: a picture, its latents, its trace and its parameters", "[watch]") {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const auto result =
      run(generate({"--prompt", "a red circle", "--seed", "7", "--output", here + "/p.png", "--json",
                    "--save-latents", here + "/l.safetensors", "--trace", here + "/t.json"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  const nlohmann::json json = result.json();
  CHECK(json["seed"] == 7);
  CHECK(json["settings"]["steps"] == 2);
  CHECK(json["settings"]["width"] == 32);
  CHECK(json["pictures"][0]["file"] == here + "/p.png");
  CHECK(json["non_finite"]["latents"] == 0);
  CHECK(json["non_finite"]["ops"] == 0);
  CHECK(json["peak_bytes"] > 0);
  CHECK(json["seconds"]["total"] > 0);
  CHECK(names_in(scratch.path()) == std::set<std::string>{"l.safetensors", "p.png", "t.json"});

  const auto png = precast::image::read_image(here + "/p.png");
  CHECK(png.image.width == 32);
  CHECK(png.image.height == 16);
  REQUIRE(png.texts.size() == 1);
  CHECK(png.texts[0].key == "parameters");
  CHECK_THAT(png.texts[0].value,
             Catch::StartsWith(
                 "a red circle\nSteps: 2, Sampler: Euler, CFG scale: 1, Distilled CFG Scale: 3.5, Seed: 7, "
                 "Size: 32x16, Model: dev_f32"));
  CHECK(precast::cli::read_latents(here + "/l.safetensors").shape().rank() == 3);
  const nlohmann::json trace = nlohmann::json::parse(program::content(here + "/t.json"));
  CHECK(trace["first_non_finite"].is_null());
  CHECK(trace["ops"].size() > 50);
  for (const nlohmann::json& op : trace["ops"])
    for (const char* key : {"path", "op", "storage", "operand", "accumulate", "inside", "result", "shape",
                            "max_abs", "inf", "nan"})
      CHECK(op.contains(key));
}

TEST_CASE("generate: the same bytes for one thread and two") {
  const Scratch scratch;
  const std::string one = (scratch.path() / "one.safetensors").string(),
                    two = (scratch.path() / "two.safetensors").string();
  const std::string picture = (scratch.path() / "p.png").string();
  REQUIRE(
      run(generate({"--prompt", "a", "--threads", "1", "--save-latents", one, "--output", picture})).code ==
      0);
  REQUIRE(
      run(generate({"--prompt", "a", "--threads", "2", "--save-latents", two, "--output", picture})).code ==
      0);
  CHECK(program::content(one) == program::content(two));
}

TEST_CASE("generate: several prompts, batches and their names") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "out.png").string();
  const auto result = run(
      generate({"--prompt", "a", "", "--prompt", "[b, c]", "--batch", "2", "--output", output, "--json"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  const nlohmann::json pictures = result.json()["pictures"];
  REQUIRE(pictures.size() == 6);
  CHECK(pictures[0]["prompt"] == "a");
  CHECK(pictures[3]["prompt"] == "");
  CHECK(pictures[5]["prompt"] == "[b, c]");
  CHECK(names_in(scratch.path()) ==
        std::set<std::string>{"out-1.png", "out-2.png", "out-3.png", "out-4.png", "out-5.png", "out-6.png"});
}

TEST_CASE("generate: latents and pictures to start from") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "out.png").string(), latents = (scratch.path() / "l").string();
  REQUIRE(run(generate({"--prompt", "a", "--save-latents", latents, "--output", output})).code == 0);
  CHECK(run(generate({"--prompt", "a", "--latents", latents, "--output", output})).code == 0);
  CHECK(run(generate({"--prompt", "a", "--image", output, "--strength", "1", "--output", output})).code == 0);
  CHECK(run(generate({"--prompt", "a", "--image", output, "--strength", "0", "--output", output})).code == 0);
  const auto too_many = run(generate({"--prompt", "a", "b", "--latents", latents, "--output", output}));
  CHECK(too_many.code == 1);
  CHECK_THAT(too_many.err, Catch::Contains(latents) && Catch::Contains("2 pictures"));
}

TEST_CASE("generate: what it starts from is replaced by a picture alone, and noise by nothing") {
  const Scratch scratch;
  const std::string here = scratch.path().string() + "/", image = here + "out-preview.png",
                    latents = here + "l.safetensors";
  REQUIRE(run(generate({"-p", "a", "-o", image, "--save-latents", latents})).code == 0);
  for (const auto& [file, words] : std::vector<std::pair<std::string, program::Words>>{
           {image, {"--image", image, "--trace", image, "-o", here + "c.png"}},
           {image, {"--image", image, "--preview", "1", "-o", here + "out.png"}},
           {latents, {"--latents", latents, "--save-latents", latents, "-o", here + "c.png"}}}) {
    const std::string before = program::content(file);
    const auto refused = run(generate(program::with({"-p", "a"}, words)));
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(file + " is read by this command, and would be replaced"));
    CHECK(program::content(file) == before);
  }
  CHECK(names_in(scratch.path()) == std::set<std::string>{"l.safetensors", "out-preview.png"});
}

TEST_CASE("generate: Ctrl-C leaves nothing") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "out.png").string();
  std::vector<std::string> arguments = generate({"--prompt", "a", "--output", output, "--batch", "200"});
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
    if (arguments[i] == "--steps") arguments[i + 1] = "10000";
  const auto result = program::run_until(program::said("10000 steps"), "INT", arguments);
  INFO(result.err);
  CHECK(result.code == 130);
  CHECK_THAT(result.err, Catch::Contains("precast: error: interrupted"));
  CHECK(names_in(scratch.path()).empty());  // no picture, no temporary file
}

TEST_CASE("compare: a sheet and a table") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "sheet.png").string();
  const std::vector<std::string> arguments{"compare", "--model",  small_flux, "--prompt",
                                           "a star",  "--width",  "16",       "--height",
                                           "16",      "--steps",  "1",        "--max-sequence-length",
                                           "8",       "--output", output};
  auto with_json = arguments;
  with_json.emplace_back("--json");
  const auto result = run(with_json);
  INFO(result.err);
  REQUIRE(result.code == 0);
  const nlohmann::json policies = result.json()["policies"];
  REQUIRE_FALSE(policies.empty());
  CHECK(policies[0]["psnr"].is_null());  // the reference is compared with nothing, as in doctor
  CHECK(policies[0]["mse"] == 0);
  for (const nlohmann::json& policy : policies) {
    CHECK(policy["seconds"] > 0);
    CHECK(policy["peak_bytes"] > 0);
    CHECK(policy["non_finite"] == 0);
  }
  CHECK(precast::image::read_image(output).image.width > 16 * static_cast<int>(policies.size()));
  auto markdown = arguments;
  markdown.emplace_back("--markdown");
  CHECK_THAT(run(markdown).out,
             Catch::StartsWith("| policy | PSNR (dB) | MSE | seconds | peak memory | non-finite |\n|:--|"));
}

TEST_CASE("tokenize: ids of both tokenizers") {
  const auto json = run({"tokenize", "--model", small_flux, "--text", "a red circle", "--json"});
  INFO(json.err);
  REQUIRE(json.code == 0);
  CHECK(json.json()["clip"].size() >= 3);
  CHECK(json.json()["t5"].size() >= 2);
  for (const auto& empty : {std::vector<std::string>{"--text", ""}, {"--text="}}) {
    std::vector<std::string> arguments{"tokenize", "--model", small_flux};
    arguments.insert(arguments.end(), empty.begin(), empty.end());
    arguments.emplace_back("--json");
    CHECK(run(arguments).json()["t5"] == nlohmann::json::array({1}));
  }
}
