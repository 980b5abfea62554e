// info: settings of our own pictures and of other programs', and the command that makes a picture again.
#include <catch2/catch.hpp>
#include <cli/options/model_path.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <image/picture_file.hpp>

#include "given.hpp"
#include "program.hpp"

namespace picture_info {
namespace {

using program::Words;
using namespace precast;
using namespace precast::cli;

/// Runs the printed command in a shell, with more words behind it.
int run_line(const std::string& line, const std::string& more) {
  std::string command = line.substr(0, line.find_last_not_of('\n') + 1);
  REQUIRE(command.starts_with("precast generate "));
  command = program::quoted(PRECAST_PROGRAM) + command.substr(std::string("precast").size());
  return std::system((command + " " + more + " 2>/dev/null").c_str());
}

std::string with_texts(const program::Scratch& scratch, const std::string& name,
                       const std::vector<image::Text>& texts) {
  const std::string file = (scratch.path() / name).string();
  image::write_image(file, {2, 1, {1, 2, 3, 4, 5, 6}}, texts);
  return file;
}

const std::string prompt_node =
    R"("6": {"class_type": "CLIPTextEncode", "inputs": {"text": "a cat: \"big\", red", "clip": ["11", 0]}})";
const std::string flux_graph = R"({
  "5": {"class_type": "EmptySD3LatentImage", "inputs": {"width": 1024, "height": 768, "batch_size": 1}},
  )" + prompt_node + R"(,
  "10": {"class_type": "VAELoader", "inputs": {"vae_name": "ae.safetensors"}},
  "12": {"class_type": "UNETLoader", "inputs": {"unet_name": "flux1-dev.safetensors", "weight_dtype": "default"}},
  "13": {"class_type": "SamplerCustomAdvanced", "inputs": {"noise": ["25", 0], "guider": ["22", 0],
         "sampler": ["16", 0], "sigmas": ["17", 0], "latent_image": ["5", 0]}, "is_changed": [NaN]},
  "16": {"class_type": "KSamplerSelect", "inputs": {"sampler_name": "euler"}},
  "17": {"class_type": "BasicScheduler", "inputs": {"scheduler": "simple", "steps": 20, "denoise": 1.0, "model": ["30", 0]}},
  "22": {"class_type": "BasicGuider", "inputs": {"model": ["30", 0], "conditioning": ["26", 0]}},
  "25": {"class_type": "RandomNoise", "inputs": {"noise_seed": 219670278747233}},
  "26": {"class_type": "FluxGuidance", "inputs": {"guidance": 3.5, "conditioning": ["6", 0]}},
  "30": {"class_type": "LoraLoaderModelOnly", "inputs": {"lora_name": "x.safetensors", "strength_model": 1, "model": ["12", 0]}}
})";

}  // namespace

TEST_CASE("info: pairs of a line, with values in quotes") {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(read_pairs("Steps: 20, Model: \"a, b: \\\"c\\\"\\nd\", Size: 1x2") ==
        Pairs{{"Steps", "20"}, {"Model", "a, b: \"c\"\nd"}, {"Size", "1x2"}});
  CHECK(read_pairs("Steps: 20, Lora hashes: \"x: 0123\"").back().second == "x: 0123");
  CHECK(read_pairs("Empty: , Next: 1") == Pairs{{"Empty", ""}, {"Next", "1"}});
  for (const char* none : {"a cat", "a, b: c", "{\"a\": 1}", ": x", "Model: \"a\" b, C: d"}) {
    INFO(none);
    CHECK(read_pairs(none).size() < 2);
  }
  for (const std::string value : {"plain", "a, b", "a: b", "two\nlines", "\"q\"", "caf\u00e9, \u732b"})
    CHECK(read_pairs("A: " + quoted_value(value) + ", B: 1") == Pairs{{"A", value}, {"B", "1"}});
}

TEST_CASE("info: the text of other programs, with a negative prompt") {
  const auto settings = read_parameters(
      "a cat,\na hat\nNegative prompt: dogs,\nbirds\nSteps: 20, Sampler: DPM++ 2M, Schedule type: Karras, "
      "CFG scale: 1, Distilled CFG Scale: 3.5, Seed: 5, Size: 512x768, Model hash: 0123456789, Model: "
      "flux1-dev, "
      "Version: v1.10.1");
  REQUIRE(settings);
  CHECK(settings->source == SettingsSource::parameters);
  CHECK(settings->prompt == "a cat,\na hat");
  CHECK(settings->negative == "dogs,\nbirds");
  const RemadeCommand command = command_for(*settings);
  CHECK(command.arguments == Words{"precast", "generate", "--prompt", "a cat,\na hat", "--seed", "5",
                                   "--steps", "20", "--guidance", "3.5", "--width", "512", "--height",
                                   "768"});
  std::string notes;
  for (const std::string& note : command.notes) notes += note + "\n";
  CHECK_THAT(notes, Catch::Contains("flux1-dev") && Catch::Contains("dogs,?birds") &&
                        Catch::Contains("DPM++ 2M") && Catch::Contains("another program"));
  CHECK_FALSE(read_parameters("a cat\nwith: one pair, and: two"));
  CHECK_FALSE(read_parameters(""));
}

TEST_CASE("info: values that no option takes are told, not passed on") {
  const auto settings = read_parameters("x\nSteps: many, Seed: -1, Size: 64xbig, Version: other");
  REQUIRE(settings);
  const RemadeCommand command = command_for(*settings);
  CHECK(command.arguments == Words{"precast", "generate", "--prompt", "x", "--width", "64"});
  CHECK(command.notes.size() == 4);  // three values, and that another program made it
}

TEST_CASE("info: ComfyUI's graph as it ran") {
  const auto settings = read_comfyui(flux_graph, "x.png");
  REQUIRE(settings);
  CHECK(settings->prompt == "a cat: \"big\", red");
  CHECK(settings->value("Seed") == "219670278747233");
  CHECK(settings->value("Steps") == "20");
  CHECK(settings->value("Distilled CFG Scale") == "3.5");
  CHECK(settings->value("Size") == "1024x768");
  CHECK(settings->value("Sampler") == "Euler");
  CHECK(settings->value("Schedule type") == "simple");
  CHECK(settings->value("Model") == "flux1-dev");
  CHECK(settings->value("Denoising strength").empty());
  const auto simple = read_comfyui(R"({
    "1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "all.safetensors"}},
    "2": {"class_type": "PrimitiveString", "inputs": {"value": "a dog"}},
    "3": {"class_type": "CLIPTextEncode", "inputs": {"text": ["2", 0], "clip": ["1", 1]}},
    "4": {"class_type": "CLIPTextEncode", "inputs": {"text": "blur", "clip": ["1", 1]}},
    "5": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 32, "batch_size": 1}},
    "9": {"class_type": "KSampler", "inputs": {"seed": 7, "steps": 4, "cfg": 1.0, "sampler_name": "euler",
          "scheduler": "simple", "denoise": 0.5, "model": ["1", 0], "positive": ["3", 0], "negative": ["4", 0],
          "latent_image": ["5", 0]}}})",
                                   "x.png");
  REQUIRE(simple);
  CHECK(simple->prompt == "a dog");
  CHECK(simple->negative == "blur");
  CHECK(simple->value("Seed") == "7");
  CHECK(simple->value("Model") == "all");
  CHECK(simple->value("Denoising strength") == "0.5");
}

TEST_CASE("info: ComfyUI's graph as it was drawn") {
  const auto settings = read_comfyui(R"({"nodes": [
    {"id": 3, "type": "KSampler", "inputs": [{"name": "model", "link": 1}, {"name": "positive", "link": 4},
      {"name": "negative", "link": 6}, {"name": "latent_image", "link": 2}],
     "widgets_values": [156680208700286, "randomize", 20, 8, "euler", "normal", 1]},
    {"id": 4, "type": "CheckpointLoaderSimple", "inputs": [], "widgets_values": ["v1-5.safetensors"]},
    {"id": 5, "type": "EmptyLatentImage", "widgets_values": [512, 512, 1]},
    {"id": 6, "type": "CLIPTextEncode", "inputs": [{"name": "clip", "link": 3}], "widgets_values": ["a glass bottle"]},
    {"id": 7, "type": "CLIPTextEncode", "inputs": [{"name": "clip", "link": 5}], "widgets_values": ["text"]}],
    "links": [[1, 4, 0, 3, 0, "MODEL"], [2, 5, 0, 3, 3, "LATENT"], [3, 4, 1, 6, 0, "CLIP"],
              [4, 6, 0, 3, 1, "CONDITIONING"], [5, 4, 1, 7, 0, "CLIP"], [6, 7, 0, 3, 2, "CONDITIONING"]]})",
                                     "x.png");
  REQUIRE(settings);
  CHECK(settings->prompt == "a glass bottle");
  CHECK(settings->negative == "text");
  CHECK(settings->value("Seed") == "156680208700286");
  CHECK(settings->value("CFG scale") == "8");
  CHECK(settings->value("Size") == "512x512");
  CHECK(settings->value("Model") == "v1-5");
}

TEST_CASE("info: the first of two passes, in ComfyUI's graphs") {
  const auto settings = read_comfyui(R"({
    "5": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 32, "batch_size": 1}},
    "6": {"class_type": "CLIPTextEncode", "inputs": {"text": "a dog"}},
    "7": {"class_type": "ConditioningZeroOut", "inputs": {"conditioning": ["6", 0]}},
    "9": {"class_type": "LatentUpscale", "inputs": {"samples": ["12", 0], "width": 128, "height": 64}},
    "12": {"class_type": "KSampler", "inputs": {"seed": 1, "steps": 20, "denoise": 1.0, "positive": ["6", 0],
           "negative": ["7", 0], "latent_image": ["5", 0]}},
    "11": {"class_type": "KSampler", "inputs": {"seed": 2, "steps": 9, "denoise": 0.5, "positive": ["6", 0],
           "negative": ["7", 0], "latent_image": ["9", 0]}}})",
                                     "x.png");
  REQUIRE(settings);
  CHECK(settings->value("Seed") == "1");
  CHECK(settings->value("Size") == "64x32");
  CHECK(settings->value("Denoising strength").empty());
  CHECK(settings->prompt == "a dog");
  CHECK_FALSE(settings->negative);
  REQUIRE(command_for(*settings).notes.size() == 2);
  CHECK_THAT(command_for(*settings).notes.front(), Catch::Contains("second pass"));
  // Of two that stand alone the lower number: 9 is before 10.
  const auto alone = read_comfyui(R"({"10": {"class_type": "KSampler", "inputs": {"seed": 10}},
    "9": {"class_type": "KSampler", "inputs": {"seed": 9}}})",
                                  "x.png");
  REQUIRE(alone);
  CHECK(alone->value("Seed") == "9");
  CHECK(alone->notes.empty());
}

TEST_CASE("info: a second pass of the text, and stable-diffusion.cpp's names") {
  const auto hires = read_parameters(
      "a cat\nSteps: 20, Sampler: Euler, CFG scale: 7, Seed: 5, Denoising strength: 0.4, Hires upscale: 2");
  REQUIRE(hires);
  const RemadeCommand once = command_for(*hires);
  CHECK(once.arguments == Words{"precast", "generate", "--prompt", "a cat", "--seed", "5", "--steps", "20",
                                "--cfg-scale", "7"});
  CHECK_THAT(once.notes.front(), Catch::Contains("second, larger pass"));
  const auto cpp = read_parameters(
      "a cat\nSteps: 4, CFG scale: 1.000000, Guidance: 3.500000, Seed: 42, Size: 64x32, Model: m.gguf, RNG: "
      "cuda, Sampler: euler, Version: stable-diffusion.cpp");
  REQUIRE(cpp);
  const RemadeCommand command = command_for(*cpp);
  CHECK(command.arguments == Words{"precast", "generate", "--prompt", "a cat", "--seed", "42", "--steps", "4",
                                   "--guidance", "3.500000", "--width", "64", "--height", "32"});
  for (const std::string& note : command.notes) CHECK_THAT(note, !Catch::Contains("sampler"));
}

TEST_CASE("info: what another program's text says beyond any option is told") {
  const auto all_notes = [](const PictureSettings& settings) {
    std::string notes;
    for (const std::string& note : command_for(settings).notes) notes += note + "\n";
    return notes;
  };
  const auto all_arguments = [](const PictureSettings& settings) {
    std::string arguments;
    for (const std::string& argument : command_for(settings).arguments) arguments += argument + " ";
    return arguments;
  };
  const auto settings = read_parameters(
      "a (fluffy:1.2) cat <lora:detail:0.8>\nSteps: 20, Sampler: Euler, Schedule type: Exponential, CFG "
      "scale: "
      "7, Seed: 5, Size: 512x512, Model hash: 0123456789, Model: v1-5, Clip skip: 2, Refiner: xl [0123], "
      "Lora hashes: \"detail: 0123\", Version: v1.10.1");
  REQUIRE(settings);
  CHECK_THAT(all_notes(*settings), Catch::Contains("left out: Refiner: xl [0123]") &&
                                       Catch::Contains("<lora:detail:0.8>") &&
                                       Catch::Contains("parentheses") && Catch::Contains("'Exponential'") &&
                                       Catch::Contains("add --sampler euler") && !Catch::Contains("hash"));
  CHECK_THAT(all_arguments(*settings), Catch::Contains("--clip-skip 2 "));
  const auto automatic = read_parameters(
      "a \\(cat\\)\nSteps: 20, Sampler: DPM++ 2M, Schedule type: Automatic, CFG scale: 7, Seed: 5");
  REQUIRE(automatic);
  CHECK(command_for(*automatic).arguments == Words{"precast", "generate", "--prompt", "a \\(cat\\)", "--seed",
                                                   "5", "--steps", "20", "--cfg-scale", "7", "--sampler",
                                                   "dpmpp_2m_karras"});
  CHECK(command_for(*automatic).notes.size() == 1);  // that another program made it
  const auto stochastic = read_parameters(
      "a cat\nSteps: 20, Sampler: DPM++ 2M SDE, Schedule type: Karras, CFG scale: 7, Seed: 5");
  REQUIRE(stochastic);
  CHECK(command_for(*stochastic).arguments.back() == "dpmpp_2m_sde_karras");
  CHECK(command_for(*stochastic).notes.size() == 1);
}

TEST_CASE("info: ComfyUI's samplers, and nodes that no option stands for") {
  const auto settings = read_comfyui(R"({
    "1": {"class_type": "LoraLoader", "inputs": {"lora_name": "x.safetensors", "model": ["4", 0]}},
    "2": {"class_type": "CLIPSetLastLayer", "inputs": {"stop_at_clip_layer": -2, "clip": ["1", 1]}},
    "3": {"class_type": "CLIPTextEncodeSDXL", "inputs": {"text_g": "a dog", "text_l": "a dog", "clip": ["2", 0]}},
    "4": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "all.safetensors"}},
    "5": {"class_type": "ConditioningConcat", "inputs": {"conditioning_to": ["3", 0], "conditioning_from": ["3", 0]}},
    "6": {"class_type": "SetLatentNoiseMask", "inputs": {"samples": ["8", 0], "mask": ["7", 0]}},
    "9": {"class_type": "KSamplerAdvanced", "inputs": {"noise_seed": 7, "steps": 20, "cfg": 7.0, "sampler_name":
          "dpmpp_2m", "scheduler": "karras", "start_at_step": 8, "model": ["1", 0], "positive": ["5", 0],
          "latent_image": ["6", 0]}}})",
                                     "x.png");
  REQUIRE(settings);
  const RemadeCommand command = command_for(*settings);
  CHECK(command.arguments == Words{"precast", "generate", "--prompt", "a dog", "--seed", "7", "--steps", "20",
                                   "--cfg-scale", "7", "--sampler", "dpmpp_2m_karras", "--clip-skip", "2"});
  std::string notes;
  for (const std::string& note : command.notes) notes += note + "\n";
  CHECK_THAT(notes, Catch::Contains("LoRA 'x.safetensors'") && Catch::Contains("made of several") &&
                        Catch::Contains("--mask") && Catch::Contains("its first 8 steps") &&
                        !Catch::Contains("not supported for such"));
  // A node that was muted, as graphs are drawn, made no picture.
  const auto drawn = read_comfyui(R"({"nodes": [
    {"id": 3, "type": "KSampler", "mode": 2, "widgets_values": [1, "fixed", 20, 8, "euler", "normal", 1]},
    {"id": 4, "type": "LoraLoader", "mode": 4, "widgets_values": ["x.safetensors", 1, 1]},
    {"id": 5, "type": "KSampler", "mode": 0, "widgets_values": [2, "fixed", 20, 8, "euler", "normal", 1]}]})",
                                  "x.png");
  REQUIRE(drawn);
  CHECK(drawn->value("Seed") == "2");
  CHECK(drawn->notes.empty());
}

TEST_CASE("info: a text that is no graph does not hide one that is") {
  const std::string graph = R"({"9": {"class_type": "KSampler", "inputs": {"seed": 9, "x": -Infinity}}})";
  for (const char* broken : {"a cat", "{", "[Infinity"}) {
    INFO(broken);
    const std::vector<image::Text> texts{{"prompt", broken}, {"workflow", graph}};
    CHECK(settings_of(texts, "x.png").value("Seed") == "9");
    CHECK_THROWS_AS(settings_of(std::span(texts).first(1), "x.png"), InputError);
  }
}

TEST_CASE("info: a prompt that is a dash, and models in folders") {
  PictureSettings settings;
  settings.prompt = "-";
  settings.values = {{"Model", "./shapes"}, {"Seed", "1"}};
  const RemadeCommand command = command_for(settings);
  CHECK(command.arguments ==
        Words{"precast", "generate", "--model", "./shapes", "--prompts-file", "PROMPT.txt", "--seed", "1"});
  CHECK(command.notes.size() == 2);
  CHECK(model_name("/x/shapes", "/x/shapes") == "./shapes");
  CHECK(model_name("/x/shapes-sd", "./shapes-sd") == "./shapes-sd");
  CHECK(model_name("/x/shapes", std::nullopt) == "shapes");
  CHECK(model_name("/x/shapes", "shapes-flux") == "shapes");
  CHECK(model_name("/x/model_sd", "shapes-sd") == "shapes-sd");
  CHECK(model_name("/x/other", "/x/other") == "other");
}

TEST_CASE("info: the example of its help, and a contact sheet") {
  const program::Scratch scratch;
  const std::string here = scratch.path().string();
  const std::string help = program::run({"info", "--help"}).out;
  const std::size_t begin = help.find("eval ");
  REQUIRE(begin != std::string::npos);
  const std::string example = help.substr(begin, help.find('\n', begin) - begin);
  REQUIRE(
      program::run({"generate", "--prompt", "a ring", "--steps", "1", "--output", here + "/out.png"}).code ==
      0);
  const std::string script =
      scratch.file("run.sh", "cd " + program::quoted(here) + "\nprecast() { " +
                                 program::quoted(PRECAST_PROGRAM) + " \"$@\"; }\n" + example + "\n");
  REQUIRE(std::system(("sh " + program::quoted(script) + " 2>/dev/null").c_str()) == 0);
  CHECK(image::read_image(here + "/another.png").image == image::read_image(here + "/out.png").image);

  REQUIRE(program::run({"compare", "--prompt", "a ring", "--steps", "1", "--policies", "quality,bf16",
                        "--output", here + "/sheet.png"})
              .code == 0);
  const auto told = program::run({"info", here + "/sheet.png"});
  INFO(told.out << told.err);
  CHECK(told.code == 0);
  CHECK_THAT(told.out, Catch::StartsWith("precast compare --prompt 'a ring' ") &&
                           Catch::Contains("--policies quality,bf16"));
  CHECK_THAT(told.err, Catch::Contains("contact sheet of precast compare"));
  const auto words = program::run({"info", here + "/sheet.png", "--json"}).json()["command"].get<Words>();
  Words again(words.begin() + 1, words.end());
  again.insert(again.end(), {"--output", here + "/again.png"});
  CHECK(program::run(again).code == 0);
  // The text of older sheets.
  const auto old = read_parameters("a ring\nSeed: 3, Policies: quality | fast");
  REQUIRE(old);
  CHECK(command_for(*old).arguments ==
        Words{"precast", "compare", "--prompt", "a ring", "--seed", "3", "--policies", "quality,fast"});
}

TEST_CASE("info: broken graphs, and graphs that are circles") {
  CHECK_THROWS_WITH(read_comfyui("{\"3\": ", "x.png"),
                    Catch::StartsWith("x.png: ") && Catch::Contains("JSON"));
  for (const char* none :
       {"[]", "{}", "3", R"({"1": 2})", R"({"1": {"class_type": 5}})", R"({"nodes": [1, {}]})",
        R"({"nodes": [{"id": [], "type": "KSampler", "inputs": 5, "widgets_values": {}}]})"}) {
    INFO(none);
    const auto settings = read_comfyui(none, "x.png");
    CHECK((!settings || settings->prompt.empty()));
  }
  const auto circle =
      read_comfyui(R"({"1": {"class_type": "KSampler", "inputs": {"positive": ["2", 0], "seed": ["1", 0]}},
    "2": {"class_type": "X", "inputs": {"conditioning": ["2", 0]}}})",
                   "x.png");
  REQUIRE(circle);
  CHECK(circle->prompt.empty());
}

TEST_CASE("info: a picture of a thousand texts is refused in a line that can be read") {
  std::vector<image::Text> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back({"key" + std::to_string(i), "value"});
  CHECK_THROWS_WITH(settings_of(texts, "x.png"), Catch::StartsWith("x.png: holds texts (key0, key1, key2") &&
                                                     Catch::Contains("...), but no settings"));
  texts.resize(2);
  CHECK_THROWS_WITH(settings_of(texts, "x.png"),
                    "x.png: holds texts (key0 and key1), but no settings that precast knows");
}

TEST_CASE("info: why standard output took nothing is said where a note follows") {
  const program::Scratch scratch;
  const std::string picture =
      with_texts(scratch, "p.png", {{"parameters", "a cat\nSteps: 20, Seed: 5, Refiner: xl"}});
  const auto result = program::run({"info", picture}, "", ">/dev/full");
  CHECK(result.code == 1);
  CHECK_THAT(result.err, Catch::Contains("note: ") &&
                             Catch::Contains("could not write to standard output: No space left on device"));
}

TEST_CASE("info: a word for the shell") {
  const Words words{"precast", "--prompt", "it's $HOME \"x\"\n`ls`", "", "a_b-c./:=1"};
  CHECK(shell_line(Words{"a\nb \x1b[2J\x07'\\1\xc2\x9b"
                         "2"}) == "$'a\\012b \\033[2J\\007\\'\\\\1\\302\\2332'");
  CHECK(shell_line(words) == "precast --prompt 'it'\\''s $HOME \"x\"\n`ls`' '' a_b-c./:=1");
}

TEST_CASE("info: generate, info, and the printed command makes the same pixels") {
  const program::Scratch scratch;
  const std::string here = scratch.path().string();
  struct Case {
    const char* file;
    Words options;
  };
  const std::vector<Case> cases{
      {"plain.png", {"--prompt", "a small red circle, on: \"blue\"", "--seed", "11", "--steps", "2"}},
      {"quoted.jpg",
       {"--prompt", "it's a $ring\nNegative prompt: `x`", "--steps", "1", "--guidance", "2.25", "--preset",
        "quality"}},
      {"dash.webp",
       {"--prompt=-- a caf\u00e9 \u732b", "--steps", "1", "--precision", "f16", "--upcast-attention",
        "--max-sequence-length", "20", "--quality", "100"}},
      {"mixed.png",
       {"--prompt", "a star", "--steps", "1", "--width", "48", "--preset", "quality", "--text-precision",
        "f32"}},
      {"parts.png",
       {"--prompt", "a star", "--steps", "1", "--precision", "bf16", "--vae-precision", "f32", "--flash"}},
      {"away.png",
       {"--prompt", "a star", "--steps", "1", "--cfg-scale", "2.5", "--negative", "a ring,\nNegative: x",
        "--t5-padding", "24"}},
      {"clip.png", {"--prompt", "a star", "--steps", "1", "--preset", "memory", "--clip-precision", "f32"}},
      {"own_seed.png", {"--prompt", "a star", "--steps", "1", "--seed", "18446744073709551615"}},
      {"empty.png", {"--prompt", "", "--steps", "1"}}};
  for (const Case& one : cases) {
    INFO(one.file);
    Words words{"generate", "--output", here + "/" + one.file};
    words.insert(words.end(), one.options.begin(), one.options.end());
    const auto made = program::run(words);
    INFO(made.err);
    REQUIRE(made.code == 0);
    const auto told = program::run({"info", here + "/" + one.file});
    INFO(told.out << told.err);
    REQUIRE(told.code == 0);
    CHECK(told.err.empty());
    const std::string again = here + "/again" + std::filesystem::path(one.file).extension().string();
    REQUIRE(run_line(told.out, "--output " + program::quoted(again)) == 0);
    const image::Picture first = image::read_image(here + "/" + one.file), second = image::read_image(again);
    CHECK(first.image == second.image);
    CHECK(first.texts == second.texts);
  }
}

TEST_CASE("info: files that stood in for parts of the model, and a plan") {
  const program::Scratch scratch;
  const std::string here = "cd " + program::quoted(scratch.path().string()) + " &&";
  const std::string transformer = (scratch.path() / "t, q8_0.gguf").string();
  REQUIRE(program::run({"convert", "shapes", transformer, "--type", "q8_0"}).code == 0);
  scratch.file("plan.json", R"({"types": {"transformer_blocks.0": "q4_0"}})");
  REQUIRE(program::run({"generate", "--prompt", "a star", "--steps", "1", "--transformer", transformer,
                        "--plan", "plan.json", "--output", "a.png"},
                       here)
              .code == 0);
  const auto told = program::run({"info", "a.png", "--json"}, here);
  INFO(told.err);
  REQUIRE(told.code == 0);
  const nlohmann::json json = told.json();
  CHECK(json["settings"]["Transformer"] == "t, q8_0.gguf");
  CHECK(json["settings"]["Plan"] == "plan.json");
  CHECK_THAT(json["notes"].dump(), Catch::Contains("its transformer was read from 't, q8_0.gguf'") &&
                                       Catch::Contains("its plan was read from 'plan.json'"));
  const auto words = json["command"].get<Words>();
  Words again(words.begin() + 1, words.end());
  again.insert(again.end(), {"--output", "b.png"});
  REQUIRE(program::run(again, here).code == 0);
  CHECK(image::read_image(scratch.path() / "a.png").image ==
        image::read_image(scratch.path() / "b.png").image);
  REQUIRE(program::run({"generate", "--prompt", "a star", "--steps", "1", "--output", "c.png"}, here).code ==
          0);
  CHECK(image::read_image(scratch.path() / "a.png").image !=
        image::read_image(scratch.path() / "c.png").image);
}

TEST_CASE("info: one picture of several, as JSON, and pictures that say nothing") {
  const program::Scratch scratch;
  const std::string here = scratch.path().string();
  REQUIRE(
      program::run({"generate", "--prompt", "a ring", "a star", "--steps", "1", "--output", here + "/b.png"})
          .code == 0);
  const auto told = program::run({"info", here + "/b-2.png", "--json"});
  INFO(told.err);
  REQUIRE(told.code == 0);
  const nlohmann::json json = told.json();
  CHECK(json["format"] == "PNG");
  CHECK(json["source"] == "precast");
  CHECK(json["prompt"] == "a star");
  CHECK(json["settings"]["Batch pos"] == "1");
  CHECK(json["texts"]["parameters"].get<std::string>().starts_with("a star\n"));
  CHECK_THAT(json["notes"].dump(), Catch::Contains("number 2 is the one"));
  const auto words = json["command"].get<Words>();
  CHECK(words[0] == "precast");
  Words again(words.begin() + 1, words.end());
  again.insert(again.end(), {"--output", here + "/again.png"});
  REQUIRE(program::run(again).code == 0);
  CHECK(image::read_image(here + "/again-2.png").image == image::read_image(here + "/b-2.png").image);

  const auto comfy =
      program::run({"info", with_texts(scratch, "comfy.webp", {{"prompt", flux_graph}}), "--json"});
  INFO(comfy.err);
  REQUIRE(comfy.code == 0);
  CHECK(comfy.json()["source"] == "comfyui");
  CHECK(comfy.json()["settings"]["Seed"] == "219670278747233");
  for (const auto& [name, texts] : {std::pair<std::string, std::vector<image::Text>>{"none.png", {}},
                                    {"other.png", {{"Software", "x"}}},
                                    {"broken.png", {{"prompt", "{"}}}}) {
    const std::string file = with_texts(scratch, name, texts);
    const auto silent = program::run({"info", file});
    INFO(silent.err);
    CHECK(silent.code == 1);
    CHECK(silent.one_line_error());
    CHECK_THAT(silent.err, Catch::Contains(name));
  }
}

}  // namespace picture_info
