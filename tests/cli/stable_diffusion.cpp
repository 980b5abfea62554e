// The program with models of Stable Diffusion: what it makes, what its pictures say, what it refuses.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/running/latents_file.hpp>
#include <image/picture_file.hpp>
#include <sampling/torch_random.hpp>

#include <precast/policy/paths.hpp>
#include <precast/policy/presets.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::Words;
using namespace precast;

namespace {

const std::string stable_diffusion_models =
    std::string(PRECAST_SOURCE_DIR) + "/tests/golden/stable_diffusion/";

}  // namespace

TEST_CASE("generate: latents that Stable Diffusion starts from are its noise") {
  const Scratch scratch;
  const std::string noise = (scratch.path() / "noise").string();
  cli::write_latents(noise, sampling::TorchGenerator(7).randn({2, 4, 4, 6}));
  const std::string picture = (scratch.path() / "o.png").string();
  const Words request{"generate", "--model",  stable_diffusion_models + "sd15",
                      "--prompt", "a cat",    "--steps",
                      "2",        "--width",  "48",
                      "--height", "32",       "--batch",
                      "2",        "--output", picture};
  const auto latents = [&](const Words& more) {
    const std::string file = (scratch.path() / "latents").string();
    Words words = request;
    words.insert(words.end(), {"--save-latents", file});
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = run(words);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return program::content(file);
  };
  const std::string drawn = latents({"--seed", "7"});
  CHECK(latents({"--latents", noise, "--seed", "7"}) == drawn);
  CHECK(latents({"--latents", noise, "--seed", "8"}) == drawn);
  cli::write_latents(noise, sampling::TorchGenerator(7).randn({2, 4, 6, 4}));
  Words wrong = request;
  wrong.insert(wrong.end(), {"--latents", noise});
  const auto turned = run(wrong);
  CHECK(turned.code == 1);
  CHECK_THAT(turned.err, Catch::Contains("latents") && Catch::Contains("[2, 4, 6, 4]"));
}

TEST_CASE(
    "generate: Stable Diffusion with a sampler, a negative prompt and guidance, and the command again") {
  const Scratch scratch;
  const std::string first = (scratch.path() / "first.png").string(),
                    again = (scratch.path() / "again.png").string();
  const auto made = run({"generate",
                         "--model",
                         stable_diffusion_models + "sd15",
                         "--prompt",
                         "a cat",
                         "--negative",
                         "blurry",
                         "--guidance",
                         "6",
                         "--guidance-rescale",
                         "0.3",
                         "--clip-skip",
                         "2",
                         "--sampler",
                         "ddim",
                         "--eta",
                         "0.5",
                         "--steps",
                         "2",
                         "--output",
                         first,
                         "--json"});
  REQUIRE(made.code == 0);
  const auto settings = made.json()["settings"];
  CHECK(settings["sampler"] == "ddim");
  CHECK(settings["eta"] == 0.5);
  CHECK(settings["clip_skip"] == 2);
  CHECK(settings["guidance"] == 6);
  CHECK(settings["negative"] == "blurry");
  Words words = run({"info", first, "--json"}).json()["command"];
  REQUIRE(words.size() > 2);
  words.erase(words.begin());
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "--model") words[i + 1] = stable_diffusion_models + "sd15";
  words.insert(words.end(), {"--output", again});
  REQUIRE(run(words).code == 0);
  CHECK(program::content(first) == program::content(again));
}

TEST_CASE("the embedded models by their names: generate, compare, inspect, and info's command") {
  const Scratch scratch;
  const std::string first = (scratch.path() / "first.png").string(),
                    again = (scratch.path() / "again.png").string();
  const auto made = run({"generate", "--model", "shapes-sd", "--prompt", "a red ring", "--steps", "2",
                         "--vae-tiling", "--output", first, "--json"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(made.json()["model"] == "shapes-sd");
  CHECK(made.json()["settings"]["vae_tiling"] == true);
  const auto told = run({"info", first, "--json"});
  REQUIRE(told.code == 0);
  Words words = told.json()["command"];
  CHECK(std::ranges::count(words, "shapes-sd") == 1);
  CHECK(std::ranges::count(words, "--vae-tiling") == 1);
  words.erase(words.begin());
  words.insert(words.end(), {"--output", again});
  REQUIRE(run(words).code == 0);
  CHECK(program::content(first) == program::content(again));

  const std::string sheet = (scratch.path() / "sheet.png").string();
  for (const auto& [given, name] : {std::pair{"shapes-sd", "shapes-sd"}, std::pair{"shapes-flux", "shapes"},
                                    std::pair{"shapes", "shapes"}}) {
    INFO(given);
    const auto compared = run({"compare", "--model", given, "--prompt", "a red ring", "--steps", "1",
                               "--policies", "quality,balanced", "--output", sheet, "--json"});
    INFO(compared.err);
    REQUIRE(compared.code == 0);
    CHECK(compared.json()["model"] == name);
    CHECK(run({"inspect", given}).code == 0);
    CHECK(run({"tokenize", "--model", given, "--text", "a"}).code == 0);
  }
  CHECK(run({"inspect", "shapes-sd"}).out.find("UNet2DConditionModel") != std::string::npos);
  const auto elsewhere =
      run({"inspect", "shapes-sd"}, "PRECAST_SHAPES_SD=" + scratch.path().string() + "/none");
  CHECK(elsewhere.code == 1);
  CHECK(elsewhere.err.find("/none") != std::string::npos);
}

TEST_CASE("generate: --threads 1 and 2 make the same bits of shapes-sd at 256 x 256, under every preset",
          "[many_runs]") {
  const Scratch scratch;
  for (const NamedPreset& preset : named_presets) {
    if (!path_compiled(preset.choice)) continue;
    INFO(preset.name);
    std::vector<std::string> pictures, latents;
    for (const std::string threads : {"1", "2"}) {
      const std::string picture = (scratch.path() / (threads + ".png")).string(),
                        file = (scratch.path() / (threads + ".latents")).string();
      const auto made = run({"generate", "--model", "shapes-sd", "--prompt", "a red ring", "--width", "256",
                             "--height", "256", "--steps", "2", "--preset", std::string(preset.name),
                             "--threads", threads, "--save-latents", file, "--output", picture});
      INFO(made.err);
      REQUIRE(made.code == 0);
      pictures.push_back(program::content(picture));
      latents.push_back(program::content(file));
    }
    CHECK(latents[0] == latents[1]);
    CHECK(pictures[0] == pictures[1]);
  }
}

TEST_CASE("the embedded shapes-sd takes at most 8 MB") {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(program::source) / "reference_pipeline/shapes/model_sd"))
    if (entry.is_regular_file()) bytes += entry.file_size();
  CHECK(bytes <= 8'000'000);
  CHECK(bytes > 1'000'000);  // its weights are there
}

TEST_CASE("option --vae-tiling takes less memory of a large picture, and is the same picture",
          "[many_runs]") {
  const Scratch scratch;
  for (const std::string model : {"shapes", "shapes-sd"}) {
    INFO(model);
    std::vector<std::int64_t> peaks;
    for (const bool tiled : {false, true}) {
      Words words{"generate",   "--model",
                  model,        "--prompt",
                  "a red star", "--width",
                  "512",        "--height",
                  "512",        "--steps",
                  "1",          "--preset",
                  "balanced",   "--json",
                  "--output",   (scratch.path() / (tiled ? "tiled.png" : "whole.png")).string()};
      if (tiled) words.emplace_back("--vae-tiling");
      const auto made = run(words);
      INFO(made.err);
      REQUIRE(made.code == 0);
      peaks.push_back(made.json()["peak_bytes"]);
    }
    INFO(peaks[0] << " and " << peaks[1]);
    // Of shapes-sd it is the UNet that takes the most.
    if (model == "shapes") CHECK(peaks[1] < 0.7 * static_cast<double>(peaks[0]));
    const image::Image whole = image::read_image((scratch.path() / "whole.png").string()).image,
                       tiled = image::read_image((scratch.path() / "tiled.png").string()).image;
    int largest = 0;
    for (std::size_t i = 0; i < whole.rgb.size(); ++i)
      largest = std::max(largest, std::abs(whole.rgb[i] - tiled.rgb[i]));
    CHECK(largest <= 1);
  }
}

TEST_CASE("generate: a negative prompt of \"\" stands in an XL picture, and makes it again") {
  const Scratch scratch;
  const auto made = [&](const char* file, const Words& more) {
    const std::string path = (scratch.path() / file).string();
    Words words{"generate", "--model", stable_diffusion_models + "sdxl", "--prompt", "a cat", "--steps", "1",
                "--output", path};
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE(run(words).code == 0);
    return path;
  };
  const auto negative = [](const std::string& path) {
    return run({"info", path, "--json"}).json()["negative_prompt"];
  };
  const std::string none = made("none.png", {}), empty = made("empty.png", {"--negative", ""});
  CHECK(negative(none).is_null());
  CHECK(negative(empty) == "");
  Words words = run({"info", empty, "--json"}).json()["command"];
  const auto option = std::ranges::find(words, "--negative");
  REQUIRE(std::distance(option, words.end()) > 1);
  CHECK(*std::next(option) == "");
}

TEST_CASE("generate: what takes its guidance as an input is not told to raise it for a negative prompt") {
  const Scratch scratch;
  const auto made = run({"generate", "--model", stable_diffusion_models + "lcm", "--prompt", "a", "--steps",
                         "1", "--negative", "b", "--guidance-rescale", "0.5", "--width", "8", "--height", "8",
                         "--output", (scratch.path() / "a.png").string()});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.err,
             Catch::Contains("--negative does nothing: this model takes its guidance as an input") &&
                 Catch::Contains("--guidance-rescale does nothing: this model takes its guidance") &&
                 !Catch::Contains("above 1"));
}

TEST_CASE("generate: a UNet that takes guidance as an input, with a sampler of another kind, is doubted") {
  const Scratch scratch;
  const std::filesystem::path model = scratch.path() / "model";
  std::filesystem::copy(stable_diffusion_models + "lcm", model, std::filesystem::copy_options::recursive);
  const std::string picture = (scratch.path() / "a.png").string();
  const auto warnings = [&](const Words& more) {
    Words words{"generate", "--model", model.string(), "--prompt", "a", "--steps", "1", "--json"};
    words.insert(words.end(), {"--width", "8", "--height", "8", "--output", picture});
    words.insert(words.end(), more.begin(), more.end());
    const auto made = run(words);
    INFO(made.err);
    REQUIRE(made.code == 0);
    return made.json()["warnings"].dump();
  };
  CHECK(warnings({}) == "[]");
  nlohmann::json index = nlohmann::json::parse(program::content(model / "model_index.json"));
  index["scheduler"][1] = "EulerDiscreteScheduler";
  scratch.file("model/model_index.json", index.dump());
  CHECK_THAT(warnings({}), Catch::Contains("takes guidance as an input") &&
                               Catch::Contains("sampler is euler: add --sampler lcm"));
  CHECK(warnings({"--sampler", "lcm"}) == "[]");
  CHECK(warnings({"--sampler", "euler"}) == "[]");
}

TEST_CASE("generate: Stable Diffusion's options on Flux, and a part of another model, are one line") {
  const std::string model = stable_diffusion_models + "sd15";
  const std::vector<std::pair<Words, std::string>> wrong{
      {{"--sampler", "ddim"}, "--sampler is for Stable Diffusion"},
      {{"--guidance-rescale", "0.5"}, "--guidance-rescale is for Stable Diffusion"},
      {{"--clip-skip", "2"}, "--clip-skip is for Stable Diffusion"},
      {{"--model", model, "--clip-skip", "9"}, "clip skip is 9"},
      {{"--model", model, "--sampler", "heun"}, "--sampler is 'heun'"},
      {{"--model", model, "--eta", "2"}, "--eta is '2'"},
      {{"--model", model, "--mask", "a.png"}, "--image"},
      {{"--model", model, "--refiner-start", "0.5"}, "--refiner"},
      {{"--model", stable_diffusion_models + "inpaint"}, "--mask"},
      {{"--model", model, "--guidance", "6", "--cfg-scale", "7"}, "contradict each other"},
      {{"--model", model, "--guidance", "6", "--cfg-scale", "1"},
       "--guidance 6 and --cfg-scale 1 contradict"},
      {{"--model", model, "--t5-precision", "f32"}, "--t5-precision is for models with a T5"},
      {{"--model", model, "--text-encoder-2", stable_diffusion_models + "sdxl.safetensors"},
       "leave --text-encoder-2 out"},
      {{"--model", stable_diffusion_models + "refiner", "--text-encoder",
        stable_diffusion_models + "sdxl.safetensors"},
       "leave --text-encoder out"},
      {{"--model", model, "--transformer", stable_diffusion_models + "sdxl.safetensors"},
       "they belong to different models"}};
  for (const auto& [options, says] : wrong) {
    Words words{"generate", "--prompt", "a"};
    words.insert(words.end(), options.begin(), options.end());
    const auto result = run(words);
    INFO(says);
    CHECK(result.code != 0);
    CHECK(result.one_line_error());
    CHECK_THAT(result.err, Catch::Contains(says));
  }
}

TEST_CASE("generate: --clip-precision over --text-precision names no T5 of Stable Diffusion") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "a.png").string();
  const auto made =
      run({"generate", "--model", "shapes-sd", "--prompt", "a", "--steps", "1", "--precision", "f32",
           "--text-precision", "bf16", "--clip-precision", "f32", "--json", "--output", file});
  REQUIRE(made.code == 0);
  CHECK(made.json()["precision"] == "quality");
  const auto again = run({"info", file});
  CHECK(again.code == 0);
  CHECK_THAT(again.out, !Catch::Contains("--t5-precision"));
}

TEST_CASE("compare: a sheet of Stable Diffusion keeps the sampler, and a guidance of 1") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "a.png").string();
  REQUIRE(run({"compare", "--model", "shapes-sd", "--prompt", "a", "--steps", "1", "--sampler", "euler",
               "--guidance", "1", "--policies", "quality", "--output", file})
              .code == 0);
  const std::string command = run({"info", file}).out;
  CHECK_THAT(command, Catch::Contains("--guidance 1 "));
  CHECK_THAT(command, Catch::Contains("--sampler euler "));
}

TEST_CASE("compare: a model that paints into pictures is compared at it, and info says so") {
  const Scratch scratch;
  const std::string picture = (scratch.path() / "a.png").string(),
                    sheet = (scratch.path() / "sheet.png").string();
  REQUIRE(run({"generate", "--model", stable_diffusion_models + "sd15", "--prompt", "a", "--steps", "1",
               "--output", picture})
              .code == 0);
  const auto compare = [&](const std::string& output, const Words& start) {
    return run(program::with({"compare", "--model", stable_diffusion_models + "inpaint", "--prompt", "a",
                              "--steps", "2", "--policies", "quality,fast", "--json", "--output", output},
                             start));
  };
  const auto without = compare(sheet, {});
  CHECK(without.code == 2);
  CHECK_THAT(without.err, Catch::Contains("give it one (--image), and where (--mask)"));
  const Words start{"--image", picture, "--mask", picture, "--strength", "0.8"};
  const auto made = compare(sheet, start);
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(made.json()["policies"][1]["psnr"] > 20);
  CHECK_THAT(made.err, !Catch::Contains("--mask is black"));
  const std::string black = (scratch.path() / "black.png").string();
  image::write_image(black, {8, 8, std::vector<std::uint8_t>(std::size_t{3} * 8 * 8, 127)}, {});
  CHECK_THAT(compare((scratch.path() / "b.png").string(), {"--image", picture, "--mask", black}).err,
             Catch::Contains("warning: --mask is black throughout"));
  const Words again = run({"info", sheet, "--json"}).json()["command"];
  for (const auto& [option, value] :
       {std::pair{"--image", "INPUT.png"}, {"--mask", "MASK.png"}, {"--strength", "0.8"}}) {
    const auto place = std::ranges::find(again, option);
    REQUIRE(std::distance(place, again.end()) > 1);
    CHECK(*std::next(place) == value);
  }
  CHECK_THAT(compare(picture, start).err, Catch::Contains("is read by this command, and would be replaced"));
}

TEST_CASE("generate: --cfg-scale is --guidance of Stable Diffusion, also where it is 1 or said twice") {
  const Scratch scratch;
  const auto guidance = [&](const Words& options) {
    Words words{"generate", "--model",  stable_diffusion_models + "sd15",   "--prompt", "a", "--steps", "1",
                "--json",   "--output", (scratch.path() / "a.png").string()};
    words.insert(words.end(), options.begin(), options.end());
    const auto made = run(words);
    REQUIRE(made.code == 0);
    const auto settings = made.json()["settings"];
    CHECK(settings.at("cfg_scale").is_null());  // 1 would say that there is no guidance
    return settings["guidance"].get<double>();
  };
  CHECK(guidance({"--guidance", "6", "--cfg-scale", "6"}) == 6);
  CHECK(guidance({"--cfg-scale", "6"}) == 6);
  CHECK(guidance({"--cfg-scale", "1"}) == 1);
}

TEST_CASE("generate: preset auto counts what a guidance takes that --cfg-scale turns off") {
  const Scratch scratch;
  const auto counted = [&](const char* option) {
    const auto outcome =
        run({"generate", "--model", "shapes-sd", "--prompt", "a large red star", "--steps", "1", "--width",
             "256", "--height", "256", option, "1", "--output", (scratch.path() / "o.png").string()});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const std::size_t begin = outcome.err.find("it takes "), end = outcome.err.find(" more, ", begin);
    REQUIRE(end != std::string::npos);
    return outcome.err.substr(begin, end - begin);
  };
  CHECK(counted("--cfg-scale") == counted("--guidance"));
}

TEST_CASE("generate: what does nothing for a Stable Diffusion model is told") {
  const Scratch scratch;
  const auto made = run({"generate", "--model", stable_diffusion_models + "sd15", "--prompt", "a", "--steps",
                         "1", "--guidance", "1", "--negative", "b", "--eta", "1", "--aesthetic-score", "3",
                         "--max-sequence-length", "9", "--output", (scratch.path() / "a.png").string()});
  CHECK(made.code == 0);
  for (const char* option : {"--negative does nothing", "--eta does nothing",
                             "--aesthetic-score does nothing", "--max-sequence-length does nothing"})
    CHECK_THAT(made.err, Catch::Contains(option));
}

TEST_CASE("generate: base and refiner in one command, whose parts inspect names") {
  const Scratch scratch;
  const std::string drawn = (scratch.path() / "a.png").string();
  const auto made =
      run({"generate", "--model", stable_diffusion_models + "sdxl", "--refiner",
           stable_diffusion_models + "refiner", "--refiner-start", "0.6", "--prompt", "a", "--steps", "4",
           "--output", drawn, "--trace", (scratch.path() / "trace.json").string(), "--json"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(made.json()["settings"]["refiner_start"] == 0.6);
  const std::string trace = program::content(scratch.path() / "trace.json");
  for (const char* path : {"\"unet.conv_in\"", "\"refiner.unet.conv_in\"", "\"text_encoder_2.",
                           "\"refiner.text_encoder_2.", "\"vae.decoder."})
    CHECK_THAT(trace, Catch::Contains(path));
  CHECK_THAT(trace, !Catch::Contains("\"refiner.vae"));
  // From a picture, and into one: steps that are left by --strength are shared in the same way.
  for (const Words& start : {Words{"--strength", "0.6"}, Words{"--strength", "1", "--mask", drawn}}) {
    Words words{"generate",
                "--model",
                stable_diffusion_models + "sdxl",
                "--refiner",
                stable_diffusion_models + "refiner",
                "--refiner-start",
                "0.6",
                "--prompt",
                "a",
                "--steps",
                "5",
                "--image",
                drawn,
                "--output",
                (scratch.path() / "b.png").string(),
                "--json"};
    words.insert(words.end(), start.begin(), start.end());
    CAPTURE(start);
    const auto from = run(words);
    INFO(from.err);
    REQUIRE(from.code == 0);
    CHECK(from.json()["settings"]["refiner_start"] == 0.6);
    CHECK(from.json()["non_finite"]["pixels"] == 0);
  }
  const auto inspected = run({"inspect", stable_diffusion_models + "sdxl"});
  REQUIRE(inspected.code == 0);
  CHECK_THAT(inspected.out,
             Catch::Contains("UNet2DConditionModel") && Catch::Contains("unet, by its config"));
}

TEST_CASE(
    "generate: no output takes the place of weights around a model's file, or of what a cache links to") {
  const Scratch scratch;
  namespace fs = std::filesystem;
  const fs::path model = scratch.path() / "model", blob = scratch.path() / "blob",
                 vae = model / "vae/diffusion_pytorch_model.safetensors", file = model / "t.safetensors";
  fs::copy(program::small_flux, model, fs::copy_options::recursive);
  fs::copy_file(model / "transformer/diffusion_pytorch_model.safetensors", file);
  const auto refused = [&](const fs::path& given, const fs::path& output) {
    const auto outcome =
        run({"generate", "--model", given.string(), "--prompt", "a", "--steps", "1", "--save-latents",
             output.string(), "--output", (scratch.path() / "a.png").string()});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("is a file of the model, which is read by this command"));
  };
  refused(file, vae);
  fs::rename(vae, blob);
  fs::create_symlink(blob, vae);
  refused(model, blob);
}

TEST_CASE("generate: no output takes the place of a refiner's file") {
  const Scratch scratch;
  const std::string refiner = (scratch.path() / "refiner").string(),
                    weights = refiner + "/unet/diffusion_pytorch_model.safetensors";
  std::filesystem::copy(stable_diffusion_models + "refiner", refiner,
                        std::filesystem::copy_options::recursive);
  const auto size = std::filesystem::file_size(weights);
  const auto refused =
      run({"generate", "--model", stable_diffusion_models + "sdxl", "--refiner", refiner, "--prompt", "a",
           "--steps", "2", "--save-latents", weights, "--output", (scratch.path() / "a.png").string()});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("is a file of the model, which is read by this command"));
  CHECK(std::filesystem::file_size(weights) == size);
}

TEST_CASE(
    "inspect: every kind of Stable Diffusion model is told the memory of a whole run, inpainting's too") {
  const Scratch scratch;
  const auto memory_of = [](const std::string& model) {
    const auto outcome = run({"inspect", model, "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome.json()["memory"];
  };
  for (const char* name : {"sd15", "sd21", "sdxl", "refiner", "inpaint", "lcm"}) {
    INFO(name);
    const nlohmann::json memory = memory_of(stable_diffusion_models + name);
    CHECK_THAT(memory.dump(), Catch::Contains("text_encoder") && Catch::Contains("vae"));
  }
  // A model without the weights of a text encoder has none to count but the UNet's.
  const std::string without = (scratch.path() / "model").string();
  std::filesystem::copy(stable_diffusion_models + "sd15", without, std::filesystem::copy_options::recursive);
  std::filesystem::remove(without + "/text_encoder/model.safetensors");
  const std::string memory = memory_of(without).dump();
  CHECK_THAT(memory, Catch::Contains("unet") && !Catch::Contains("vae") && !Catch::Contains("transformer"));
}

TEST_CASE("a component that is a PyTorch checkpoint is shown by inspect, and refused by generate") {
  const Scratch scratch;
  const std::filesystem::path model = scratch.path() / "model";
  std::filesystem::copy(stable_diffusion_models + "sd15", model, std::filesystem::copy_options::recursive);
  std::filesystem::rename(model / "unet/diffusion_pytorch_model.safetensors",
                          model / "unet/diffusion_pytorch_model.bin");
  const auto shown = run({"inspect", model.string()});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, Catch::Contains("PyTorch checkpoint"));
  const auto refused = run({"generate", "--model", model.string(), "--prompt", "a"});
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains("unet: holds its weights as a PyTorch checkpoint, "
                                          "diffusion_pytorch_model.bin, which can run code"));
}

TEST_CASE("inspect: the -Infinity that diffusers writes of a DPM-Solver++ is read as generate reads it") {
  const Scratch scratch;
  const std::string model = (scratch.path() / "model").string();
  std::filesystem::copy(stable_diffusion_models + "sd15", model, std::filesystem::copy_options::recursive);
  scratch.file("model/scheduler/scheduler_config.json",
               R"({"_class_name": "DPMSolverMultistepScheduler", "lambda_min_clipped": -Infinity})");
  const auto inspected = run({"inspect", model, "--json"});
  INFO(inspected.err);
  REQUIRE(inspected.code == 0);
  CHECK_THAT(inspected.json().dump(), Catch::Contains("DPMSolverMultistepScheduler"));
}

TEST_CASE("inspect: a model whose sampler is not here is shown, and its memory with another one") {
  const Scratch scratch;
  const std::string model = (scratch.path() / "model").string();
  std::filesystem::copy(stable_diffusion_models + "sd15", model, std::filesystem::copy_options::recursive);
  nlohmann::json index = nlohmann::json::parse(program::content(model + "/model_index.json"));
  index["scheduler"] = {"diffusers", "UniPCMultistepScheduler"};
  scratch.file("model/model_index.json", index.dump());
  scratch.file("model/scheduler/scheduler_config.json", R"({"_class_name": "UniPCMultistepScheduler"})");
  const auto inspected = run({"inspect", model});
  INFO(inspected.err);
  REQUIRE(inspected.code == 0);
  CHECK_THAT(inspected.out, Catch::Contains("UniPCMultistepScheduler") &&
                                Catch::Contains("with ddim, as its own sampler is not supported"));
  // Who draws chooses one.
  const auto drawn = run({"generate", "--model", model, "--prompt", "a", "--steps", "1"});
  CHECK(drawn.one_line_error());
  CHECK_THAT(drawn.err, Catch::Contains("choose one of ddim"));
}

TEST_CASE("inspect: a UNet in diffusers' names is a part of a model, and says which") {
  const Scratch scratch;
  const std::string unet = (scratch.path() / "u.gguf").string(),
                    picture = (scratch.path() / "a.png").string();
  REQUIRE(run({"convert", stable_diffusion_models + "sd15/unet", unet, "--type", "q8_0", "--quiet"}).code ==
          0);
  const auto facts = run({"inspect", unet});
  CHECK(facts.code == 0);
  CHECK_THAT(facts.out, !Catch::Contains("cannot be loaded") && Catch::Contains("a Stable Diffusion UNet") &&
                            Catch::Contains("--transformer") && Catch::Contains("unet: diffusers names"));
  const auto drawn = run({"generate", "--model", stable_diffusion_models + "sd15", "--transformer", unet,
                          "--prompt", "a", "--steps", "1", "--output", picture});
  INFO(drawn.err);
  CHECK(drawn.code == 0);
  const auto alone = run({"generate", "--model", unet, "--prompt", "a", "--output", picture});
  CHECK(alone.code != 0);
  CHECK(alone.one_line_error());
  CHECK_THAT(alone.err, Catch::Contains("a Stable Diffusion UNet") && Catch::Contains("--transformer"));
}
