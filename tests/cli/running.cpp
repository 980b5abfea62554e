// What options of a run do, from the command line to the files: seeds, prompts' files, models by name, what
// is said on stderr.
#include <set>

#include <catch2/catch.hpp>
#include <image/picture_file.hpp>

#include "given.hpp"
#include "program.hpp"

using program::golden_models;
using program::names_in;
using program::run;
using program::Scratch;
namespace fs = std::filesystem;

namespace {

/// A run of two steps, of a model with guidance unless another is named.
std::vector<std::string> small_run(const std::vector<std::string>& more,
                                   const std::string& model = "dev_f32") {
  std::vector<std::string> all{"generate", "-m", golden_models + model, "-H", "16", "--num-inference-steps",
                               "2"};
  if (model == "dev_f32") all.insert(all.end(), {"-W", "32"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string settings_of(const fs::path& picture) {
  const auto file = precast::image::read_image(picture);
  REQUIRE(file.texts.size() == 1);
  return file.texts[0].value;
}

}  // namespace

TEST_CASE("generate: a random seed is told, recorded, and makes the picture again") {
  const Scratch scratch;
  const std::string first = scratch.path() / "first.png", again = scratch.path() / "again.png";
  std::set<std::string> seeds;
  for (const char* wish : {"random", "-1"}) {
    const auto result = run(small_run({"-p", "a", "-s", wish, "-o", first, "--json"}));
    INFO(result.err);
    REQUIRE(result.code == 0);
    const std::string seed = std::to_string(result.json()["seed"].get<std::uint64_t>());
    seeds.insert(seed);
    CHECK_THAT(result.err, Catch::Contains("seed random: " + seed));
    CHECK_THAT(settings_of(first), Catch::Contains("Seed: " + seed + ","));
    REQUIRE(run(small_run({"-p", "a", "-s", seed, "-o", again})).code == 0);
    CHECK(program::content(first) == program::content(again));
  }
  CHECK(seeds.size() == 2);
}

TEST_CASE("generate: with a seed step each picture of a batch has the seed that makes it alone") {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const auto batch = run(small_run(
      {"-p", "a", "b", "--batch", "2", "-s", "5", "--seed-step", "10", "-o", here + "/p.png", "--json"}));
  INFO(batch.err);
  REQUIRE(batch.code == 0);
  CHECK(batch.json()["pictures"][3]["seed"] == 35);
  REQUIRE(run(small_run({"-p", "b", "-s", "35", "-o", here + "/alone.png"})).code == 0);
  CHECK(program::content(here + "/alone.png") == program::content(here + "/p-4.png"));
  CHECK(program::content(here + "/alone.png") != program::content(here + "/p-3.png"));
}

TEST_CASE("generate: prompts from a file and from standard input, numbered with leading zeros from ten on") {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const std::string list = scratch.file("list", "a star\r\n\n  \na ring\n");
  const auto of_file = run(small_run({"--prompts-file", list, "-o", here + "/f.png", "--json"}));
  INFO(of_file.err);
  REQUIRE(of_file.code == 0);
  CHECK(of_file.json()["pictures"][0]["prompt"] == "a star");
  CHECK(of_file.json()["pictures"][1]["prompt"] == "a ring");
  for (const auto& way : {std::vector<std::string>{"-p", "-"}, {"--prompt", "-"}, {"--prompts-file", "-"}}) {
    auto arguments = small_run({"-o", here + "/s.png", "--json"});
    arguments.insert(arguments.end(), way.begin(), way.end());
    CHECK(run(arguments, "", "<" + program::quoted(list)).json()["pictures"] == nlohmann::json::parse([&] {
            std::string text = of_file.json()["pictures"].dump();
            for (std::size_t at = 0; (at = text.find("/f-", at)) != std::string::npos;) text[at + 1] = 's';
            return text;
          }()));
  }
  CHECK_THAT(run(small_run({"--prompts-file", here + "/none"})).err, Catch::Contains(here + "/none"));
  CHECK_THAT(run(small_run({"-p", "-"})).err, Catch::Contains("standard input: holds no prompt"));
  const Scratch many;
  REQUIRE(run(small_run({"-p", "a", "--batch", "10", "-o", many.path() / "p.png"})).code == 0);
  const auto names = names_in(many.path());
  CHECK(names.size() == 10);
  CHECK(names.contains("p-01.png"));
  CHECK(names.contains("p-10.png"));
}

TEST_CASE("generate: --no-overwrite refuses before any work") {
  const Scratch scratch;
  const std::string there = scratch.file("p-2.png", "mine"), here = scratch.path().string();
  const auto refused = run(small_run({"-p", "a", "--batch", "2", "-o", here + "/p.png", "--no-overwrite"}));
  CHECK(refused.code == 1);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains(there + " already exists"));
  CHECK(program::content(there) == "mine");
  CHECK(names_in(scratch.path()) == std::set<std::string>{"p-2.png"});
  CHECK(run(small_run({"-p", "a", "-o", here + "/q.png", "--save-latents", there, "--no-overwrite"})).code ==
        1);
  CHECK(run(small_run({"-p", "a", "-o", here + "/q.png", "--no-overwrite"})).code == 0);
  // Its own preview is replaced from step to step, and one that was there is not.
  const std::vector<std::string> previewed{
      "-p", "a", "-o", here + "/r.png", "--no-overwrite", "--preview", "1", "--preview-vae"};
  CHECK(run(small_run(previewed)).code == 0);
  fs::remove(scratch.path() / "r.png");
  CHECK_THAT(run(small_run(previewed)).err, Catch::Contains("r-preview.png already exists"));
}

TEST_CASE("generate: what has no effect and what is cut is told") {
  const Scratch scratch;
  const std::string output = scratch.path() / "p.png";
  const auto plain = run(small_run({"-p", "a star", "-o", output, "--json"}, "static_sharded"));
  INFO(plain.err);
  REQUIRE(plain.code == 0);
  CHECK(plain.json()["warnings"].empty());
  CHECK_THAT(plain.err, !Catch::Contains("warning"));
  const auto guided =
      run(small_run({"-p", "a star", "-o", output, "--guidance-scale", "7", "--json"}, "static_sharded"));
  CHECK_THAT(guided.err, Catch::Contains("warning: --guidance 7 does nothing"));
  CHECK(guided.json()["settings"]["guidance"].is_null());
  CHECK_THAT(settings_of(output), !Catch::Contains("7"));
  const auto kept = run(small_run({"-p", "a star", "-o", output, "--guidance", "7", "--json"}));
  CHECK(kept.json()["settings"]["guidance"] == 7);
  CHECK(kept.json()["warnings"].empty());
  CHECK_THAT(run(small_run({"-p", "a", "-n", "b", "-o", output})).err,
             Catch::Contains("--negative does nothing without"));
  const auto away = run(small_run({"-p", "a", "-n", "b", "--cfg-scale", "2", "-o", output, "--json"}));
  CHECK(away.json()["warnings"].empty());
  CHECK(away.json()["settings"]["negative"] == "b");
  const auto lossless = run(small_run({"-p", "a", "-o", output, "--quality", "50", "--json"}));
  REQUIRE(lossless.json()["warnings"].size() == 1);
  CHECK_THAT(lossless.err, Catch::Contains("--quality does nothing for PNG"));
  const auto still = run(small_run({"-p", "a", "-o", scratch.path() / "still.png", "--image", output,
                                    "--strength", "0", "--preview", "1", "--preview-vae"}));
  CHECK_THAT(still.err, Catch::Contains("--preview writes nothing: --strength 0 takes no step"));
  CHECK_FALSE(fs::exists(scratch.path() / "still-preview.png"));
  const auto cut_away =
      run(small_run({"-p", "a", "-n", "a small red circle on a blue background", "--cfg-scale", "2",
                     "--max-sequence-length", "4", "-o", output, "-q"}));
  CHECK_THAT(cut_away.err, Catch::StartsWith("precast: warning: the negative prompt is longer than the 4"));
  const auto combined = run(small_run({"-p", "a", "-o", output, "-qs", "4"}));
  CHECK(combined.code == 0);
  CHECK(combined.err.empty());
  CHECK_THAT(settings_of(output), Catch::Contains("Seed: 4,"));
  const auto cut = run(small_run({"-p", "a small red circle on a blue background", "--max-sequence-length",
                                  "4", "-o", output, "--quiet"}));
  CHECK_THAT(cut.err,
             Catch::StartsWith("precast: warning: the prompt is longer than the 4 tokens that T5 reads") &&
                 Catch::Contains("background\" (only T5 is without it): raise --max-sequence-length"));
  CHECK(std::count(cut.err.begin(), cut.err.end(), '\n') == 1);
}

TEST_CASE("generate: T5's padding is part of the picture and of its settings") {
  const Scratch scratch;
  const std::string short_one = scratch.path() / "a.png", padded = scratch.path() / "b.png";
  REQUIRE(run(small_run({"-p", "a star", "-o", short_one})).code == 0);
  REQUIRE(run(small_run({"-p", "a star", "--t5-padding", "256", "-o", padded})).code == 0);
  CHECK_THAT(settings_of(padded), Catch::Contains("T5 padding: 256"));
  CHECK(precast::image::read_image(short_one).image.rgb != precast::image::read_image(padded).image.rgb);
}

TEST_CASE("generate: a line at the end on time and memory, and nothing at all when quiet") {
  const Scratch scratch;
  const std::string output = scratch.path() / "p.png";
  const auto told = run(small_run({"-p", "a", "-o", output}));
  CHECK_THAT(told.err, Catch::Contains(" in all, ") && Catch::Contains(" a step, peak memory ") &&
                           Catch::Contains("wrote " + output));
  const auto compared = run({"compare", "-m", golden_models + "dev_f32", "-H", "16", "-W", "32", "--steps",
                             "1", "-p", "a", "--policies", "quality", "-o", output});
  CHECK_THAT(compared.err, Catch::Contains(" in all, peak memory "));
  const auto quiet = run(small_run({"-p", "a", "-o", output, "--quiet", "-s", "random"}));
  CHECK(quiet.code == 0);
  CHECK(quiet.err.empty());
  CHECK(quiet.out.empty());
}

TEST_CASE("generate and inspect: a model by its name in Hugging Face's cache") {
  const Scratch scratch;
  const fs::path model = scratch.path() / "hub" / "models--some--tiny-flux",
                 snapshot = model / "snapshots" / "0af3";
  fs::create_directories(model / "blobs");
  std::size_t blobs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(golden_models + "dev_f32")) {
    if (!entry.is_regular_file()) continue;
    const fs::path blob = model / "blobs" / std::to_string(blobs++);
    const fs::path link = snapshot / fs::relative(entry.path(), golden_models + "dev_f32");
    fs::copy_file(entry.path(), blob);
    fs::create_directories(link.parent_path());
    fs::create_symlink(fs::relative(blob, link.parent_path()), link);
  }
  scratch.file("hub/models--some--tiny-flux/refs/main", "0af3");
  const std::string environment = "HF_HUB_CACHE= HUGGINGFACE_HUB_CACHE= HF_HOME=" + scratch.path().string();
  const std::string output = scratch.path() / "p.png", folder = scratch.path() / "f.png";
  const std::vector<std::string> size{"-W", "32", "-H", "16", "--steps", "2", "-p", "a"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), size.begin(), size.end());
    return run(arguments, environment);
  };
  const auto named = with({"generate", "-m", "some/tiny-flux", "-o", output});
  INFO(named.err);
  REQUIRE(named.code == 0);
  CHECK_THAT(settings_of(output), Catch::Contains("Model: some/tiny-flux,") && !Catch::Contains("0af3"));
  REQUIRE(with({"generate", "-m", model.string(), "-o", folder}).code == 0);
  CHECK(program::content(folder) == program::content(output));
  CHECK(run({"inspect", "some/tiny-flux", "--json"}, environment).json()["kind"] == "model");
  CHECK(run({"tokenize", "--model", "some/tiny-flux", "--text", "a"}, environment).code == 0);
  const auto missing = with({"generate", "-m", "black-forest-labs/FLUX.1-schnell", "-o", output});
  CHECK(missing.code == 1);
  CHECK(missing.one_line_error());
  CHECK_THAT(missing.err, Catch::Contains(scratch.path() / "hub") &&
                              Catch::Contains("hf download black-forest-labs/FLUX.1-schnell"));
}
