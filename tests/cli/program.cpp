// The program as a user runs it: formats, policies, help, completions, and what wrong command lines get.
#include "program.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include <catch2/catch.hpp>

#include <precast/policy/quant_formats.hpp>

#include "given.hpp"

using program::golden_models;
using program::run;
using program::Scratch;
using program::source;

namespace {

const std::vector<std::string> commands{"generate", "compare",  "doctor",      "record", "cost",
                                        "info",     "inspect",  "plan",        "report", "policy",
                                        "formats",  "tokenize", "completions", "help"};

}  // namespace

TEST_CASE("formats: what each format makes of a number") {
  const auto result = run({"formats", "0.1", "65520", "-inf", "nan", "--json", "-0", "1e-7"});
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  const nlohmann::json numbers = result.json()["numbers"];
  REQUIRE(numbers.size() == 6);
  CHECK(numbers[0]["input"] == 0.1);
  CHECK(numbers[0]["bf16"]["bits"] == "0x3dcd");
  CHECK(numbers[0]["bf16"]["value"] == 0.10009765625);
  CHECK(numbers[0]["bf16"]["kind"] == "normal");
  CHECK(numbers[0]["bf16"]["ulp"] == 0.00048828125);
  CHECK(numbers[0]["bf16"]["error"] == 0.10009765625 - 0.1);
  CHECK(numbers[0]["tf32"]["bits"] == "0x1ee66");
  CHECK(numbers[1]["f16"]["value"] == "inf");
  CHECK(numbers[1]["f16"]["error"] == "inf");
  CHECK(numbers[1]["f16"]["ulp"] == "nan");
  CHECK(numbers[1]["fp8_e4m3"]["value"] == "nan");
  CHECK(numbers[2]["input"] == "-inf");
  CHECK(numbers[2]["fp8_e5m2"]["bits"] == "0xfc");
  CHECK(numbers[2]["f32"]["error"] == 0);  // which it holds, as every format with an infinity does
  CHECK(numbers[2]["fp8_e5m2"]["error"] == 0);
  CHECK(numbers[2]["fp8_e4m3"]["error"] == "nan");
  CHECK(numbers[3]["input"] == "nan");
  CHECK(numbers[3]["fp8_e4m3"]["error"] == 0);
  CHECK(numbers[4]["f16"]["bits"] == "0x8000");
  CHECK(numbers[4]["f16"]["kind"] == "zero");
  CHECK(numbers[5]["f16"]["kind"] == "subnormal");
  // The input, six formats, and three that are in blocks alone.
  for (const nlohmann::json& number : numbers) CHECK(number.size() == 10);
  CHECK(numbers[1]["e2m3"]["value"] == 7.5);
  CHECK(numbers[0]["e2m1"]["value"] == 0);
}

TEST_CASE("formats: a double is rounded once") {
  // 1 + 2^-8 + 2^-30 is above a tie of bf16; through f32 it would be the tie, and go down to even.
  const auto result = run({"formats", "--json", "0x1.01000004p0"});
  CHECK(result.json()["numbers"][0]["bf16"]["value"] == 1.0078125);
}

TEST_CASE("formats: the facts") {
  const auto result = run({"formats", "--json"});
  REQUIRE(result.code == 0);
  const nlohmann::json formats = result.json()["formats"];
  CHECK(formats["f16"]["max"] == 65504);
  CHECK(formats["fp8_e4m3"]["max"] == 448);
  CHECK(formats["fp8_e4m3"]["infinity"] == false);
  CHECK(formats["bf16"]["mantissa_bits"] == 7);
  CHECK(formats["e2m3"]["max"] == 7.5);
  CHECK(formats["e2m1"]["bits"] == 4);
  const nlohmann::json blocks = result.json()["blocks"];
  CHECK(blocks["q4_k"] == nlohmann::json{{"bits", 4.5}, {"values", 256}, {"bytes", 144}, {"gguf_type", 12}});
  CHECK(blocks["mxfp6_e2m3"]["gguf_type"].is_null());
  CHECK(blocks["int8_row"]["values"].is_null());
  CHECK_THAT(run({"formats"}).out, Catch::StartsWith("format") && Catch::Contains("65504") &&
                                       Catch::Contains("\nblocks ") && Catch::Contains("\nint8_row "));
}

TEST_CASE("policy: the resolved table") {
  const auto memory = run({"policy", "--preset", "memory", "--json"});
  if (memory.code != 0) {  // a build without that path says which option brings it
    CHECK(memory.one_line_error());
    CHECK_THAT(memory.err, Catch::Contains("configure with -DPRECAST_"));
    return;
  }
  const nlohmann::json table = memory.json();
  CHECK(table["policy"] == "Policy<Storage<f16>, Upcast<Attention>>");
  CHECK(table["preset"] == "memory");
  CHECK(table["ops"]["Attention"] == nlohmann::json({{"storage", "f16"},
                                                     {"operand", "f32"},
                                                     {"accumulate", "f32"},
                                                     {"inside", "f32"},
                                                     {"result", "f16"}}));
  CHECK(table["ops"]["Matmul"]["inside"].is_null());
  CHECK(table["ops"].size() == 9);
  if (const auto plain = run({"policy", "--precision", "f16", "--json"}); plain.code == 0) {
    CHECK(plain.json()["preset"].is_null());
    CHECK(plain.json()["ops"]["Attention"]["inside"] == "f16");
  } else {
    CHECK_THAT(plain.err, Catch::Contains("-DPRECAST_PRESET=all"));
  }
  const auto all = run({"policy"});
  CHECK(all.code == 0);
  for (const char* preset : {"quality", "balanced", "fast", "memory"})
    CHECK_THAT(all.out, Catch::Contains(preset));
}

TEST_CASE("help is there for everything") {
  const auto all = run({"--help"});
  CHECK(all.code == 0);
  CHECK(all.err.empty());
  for (const std::string& command : commands) {
    INFO(command);
    CHECK_THAT(all.out, Catch::Contains("  " + command + " "));
    const auto help = run({command, "--help"});
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    CHECK_THAT(help.out, Catch::Contains("Example") && Catch::Contains("precast " + command));
    CHECK(run({"help", command}).out == help.out);
    for (const std::size_t columns : {40, 64, 72, 80, 120}) {
      INFO("in " << columns << " columns");
      bool unfinished = false;
      std::istringstream lines(run({command, "--help"}, "COLUMNS=" + std::to_string(columns)).out);
      for (std::string line; std::getline(lines, line);) {
        const auto width = std::ranges::count_if(line, [](unsigned char c) { return (c & 0xc0u) != 0x80u; });
        // Of a command to copy, a word and a text in quotes stay whole, and are alone in their line.
        const bool continues = std::exchange(unfinished, line.ends_with(" \\"));
        const std::string word = line.substr(0, line.size() - (unfinished ? 2 : 0));
        if (continues && (word.starts_with("      \"") || word.rfind(' ') < 6)) continue;
        if (static_cast<std::size_t>(width) > columns) FAIL_CHECK(line);
      }
    }
  }
  const std::string version = run({"--version"}).out;
  CHECK(version.starts_with("precast 0."));
  CHECK_THAT(version, Catch::Contains("\npresets: ") && Catch::Contains("\nprecisions: ") &&
                          Catch::Contains("\nblock formats: ") && Catch::Contains("\ntraining: ") &&
                          Catch::Contains("\nwatching ops: ") && Catch::Contains("\nCUDA: "));
  CHECK(run({"-V"}).out == version);
  // Blocks of a fixed size and rows under a scale alike.
  for (const std::string_view format : {"q8_0", "int8_row"})
    CHECK((version.find(format) != version.npos) == precast::block_format_compiled(format));
  CHECK(run({"help"}).out == all.out);
  const auto nothing = run({});
  CHECK(nothing.code == 2);
  CHECK(nothing.out.empty());
  CHECK_THAT(nothing.err, Catch::Contains("Usage"));
}

TEST_CASE("help of a command is the command's own, and where a build leaves it out the same error") {
  for (const std::string command : {"generate", "train", "bench"}) {
    INFO(command);
    const auto by_name = run({"help", command}), by_option = run({command, "--help"});
    CHECK(by_name.code == by_option.code);
    CHECK(by_name.out == by_option.out);
    CHECK(by_name.err == by_option.err);
  }
}

TEST_CASE("completions are those of the parser, and the committed ones are up to date") {
  const std::string folder = source + "/reference_pipeline/cli/completions/";
  for (const auto& [shell, file] :
       {std::pair("bash", "precast.bash"), std::pair("zsh", "_precast"), std::pair("fish", "precast.fish")}) {
    INFO("precast completions " << shell << " > reference_pipeline/cli/completions/" << file);
    const auto script = run({"completions", shell});
    CHECK(script.code == 0);
    for (const std::string& command : commands) CHECK_THAT(script.out, Catch::Contains(command));
    CHECK_THAT(script.out,
               Catch::Contains("upcast-attention") && Catch::Contains("quality balanced fast memory auto"));
    CHECK(script.out == program::content(folder + file));
  }
}

TEST_CASE("a wrong command line is one line and exit code 2") {
  struct Case {
    std::vector<std::string> arguments;
    std::string says;
  };
  const std::vector<Case> cases{
      {{"formta"}, "there is no command 'formta': did you mean formats?"},
      {{"paint"}, "there is no command 'paint': it is generate,"},
      {{"--sed"}, "there is no option --sed"},
      {{"formats", "1e400"}, "1e400 is too large for a double"},
      {{"formats", "one"}, "'one' is not a number"},
      {{"formats", "0.1", "one", "2"}, "'one' is not a number"},
      {{"formats", "-x"}, "there is no option -x"},
      {{"policy", "--preset", "memroy"}, "did you mean memory?"},
      {{"policy", "--precision", "f64"}, "--precision is 'f64': it takes f32, bf16 or f16"},
      {{"policy", "--flash", "--no-flash"}, "--flash excludes --no-flash: give one of them"},
      {{"policy", "--preset"}, "--preset needs a value"},
      {{"policy", "extra"}, "'extra' is one argument too many"},
      {{"policy", "fast"}, "'fast' is one argument too many: write --preset fast"},
      {{"policy", "--preset", "memory", "fast"}, "'fast' is one argument too many (see"},
      {{"policy", "--json", "--json"}, "--json is given twice"},
      {{"policy", "--json=yes"}, "--json takes no value"},
      {{"inspect", "a", "b"}, "'b' is one argument too many"},
      {{"--"}, "there is no command: it is generate,"},
      {{"for\nmats"}, "there is no command 'for?mats': did you mean formats?"},
      {{"generate", "a\n\x1b[31mb"}, "'a??[31mb' is one argument too many"},
      {{"policy", "--fla\nsh"}, "there is no option --fla?sh"},
      {{"generate", "-prompt", "a"}, "there is no option -prompt: did you mean --prompt?"},
      {{"compare", "--prompt", "a", "--json", "--markdown"}, "--markdown excludes --json"},
      {{"generate", "-pa", "b"}, "'b' is one argument too many"},
      {{"inspect", ""}, "path is empty"},
      {{"info", ""}, "picture is empty: name a file"},
      {{"generate", "-qs", "x", "-p", "a"}, "--seed is 'x'"},
      {{"generate", "-qs"}, "-s needs a value"},
      {{"generate", "-qz"}, "there is no option -z"},
      {{"generate", "--prompt", "a", "--seed", "abc"}, "18446744073709551615, or random"},
      {{"generate", "--prompt", "a", "--preview", "1", "--preview-output", "-"},
       "name a file for the previews"},
      {{"generate", "--prompt", "a", "--preview", "1", "--preview-output", "/dev/stdout"},
       "name a file for the previews"},
      {{"generate", "--prompt", "a", "--output", "folder/", "--batch", "2"}, "is a folder"},
      {{"generate", "--prompt", "a", "--output", "folder/"}, "is a folder"},
      {{"generate", "--prompt", "a", "--output", ".", "--batch", "2"}, "is a folder"},
      {{"compare", "--prompt", "a", "--output", ".."}, "is a folder"},
      {{"generate", "--prompt", "a", "--output", "w.webp", "--width", "16384", "--height", "16"},
       "--output is WebP, whose sides have at most 16383 pixels"},
      {{"compare", "--prompt", "a", "--width", "16384", "--height", "16"}, "a contact sheet of"},
      {{"generate", "--prompt", std::string(20000, 'a'), "--negative", std::string(20000, 'b'), "--output",
        "x.jpg"},
       "is longer than a JPEG picture's text can be"},
      {{"generate", "a star"}, "write --prompt \"a star\""},
      {{"generate", "a", "$star"}, "write --prompt \"a \\$star\""},
      {{"tokenize", "a star"}, "write --text \"a star\""},
      {{"generate", "--prompt", "a", "--seed", "1", "--seed", "2"}, "--seed is given twice: give it once"},
      {{"compare", "--prompt", "a", "--output", "a.png", "--output", "b.png"}, "--output is given twice"},
      {{"generate", "--prompt", "a", "--transformer-precision", "f32", "--unet-precision", "f32"},
       "--unet-precision is given twice"},
      {{"generate", "--prompt", "a", "--output", "--json"}, "--output needs a value before --json"},
      {{"generate", "--prompt", "a", "--trace", "--x"}, "--trace needs a value before --x"},
      {{"generate", "--prompt", "a", "--seed"}, "--seed needs a value"},
      {{"compare", "--prompt", "a", "--output", "--markdown"}, "--output needs a value before --markdown"},
      {{"generate", "--prompt", "a", "--image", ""}, "--image is empty"},
      {{"generate", "--prompt", "a", "--latents", ""}, "--latents is empty"},
      {{"generate", "--prompt", "a", "--latents="}, "--latents is empty"},
      {{"generate", "--prompt", "a", "--trace", ""}, "--trace is empty"},
      {{"generate", "--prompt", "a", "--save-latents", ""}, "--save-latents is empty"},
      {{"generate", "--prompt", "a", "--output", ""}, "--output is empty"},
      {{"compare", "--prompt", "a", "--output", ""}, "--output is empty"},
      {{"generate", "--prompt", "a", "--width", "15"}, "width is 15"},
      {{"generate", "--prompt", "a", "--device", "gpu"}, "there is no device 'gpu'"},
      {{"generate", "--prompt", "a", "--image", "a.png", "--strength", "2"}, "--strength is '2'"},
      {{"generate", "--prompt", "a", "--output", "-", "--json"}, "standard output holds one picture"},
      {{"generate", "--prompt", "a", "b", "--output", "-"}, "standard output holds one picture"},
      {{"generate", "--prompt", "a", "--trace", "-"}, "name a file for the trace"},
      {{"compare", "--prompt", "a", "--output", "-", "--json"}, "standard output holds the sheet alone"},
      {{"completions", "csh"}, "it takes bash, zsh or fish"},
      {{"tokenize"}, "--text is required"},
      {{"inspect"}, "path is required: name a folder or a file"},
      {{"completions"}, "shell is required: give bash, zsh or fish"},
      {{"generate"}, "--prompt is required"},
      {{"generate", "--prompt"}, "--prompt needs a value"},
      {{"generate", "--prompt", "--seed", "1"}, "--prompt needs a value before --seed"},
      {{"generate", "--promt", "a"}, "there is no option --promt: did you mean --prompt?"},
      {{"generate", "--prompt", "a", "--steps", "0"},
       "--steps is '0': it takes a whole number from 1 to 10000"},
      {{"generate", "--prompt", "a", "--steps", "100000"}, "--steps is '100000'"},
      {{"generate", "--prompt", "a", "--steps", "4.5"}, "--steps is '4.5'"},
      {{"generate", "--prompt", "a", "--batch", "0"}, "--batch is '0'"},
      {{"generate", "--prompt", "a", "--batch", "99999999999"}, "--batch is '99999999999'"},
      {{"generate", "--prompt", "a", "b", "--batch", "1000"}, "ask for 2000 pictures"},
      {{"generate", "--prompt", "a", "--width", "0"}, "--width is '0'"},
      {{"generate", "--prompt", "a", "--height", "1000000"}, "--height is '1000000'"},
      {{"generate", "--prompt", "a", "--seed", "-2"}, "--seed is '-2'"},
      {{"generate", "--prompt", "a", "--seed-step", "-1"}, "--seed-step is '-1'"},
      {{"generate", "-p", "-s", "1"}, "-p needs a value before -s (write --prompt=-s if"},
      {{"generate", "-p", "a", "-W", "0"}, "--width is '0'"},
      {{"generate", "-p", "a", "--num-inference-steps", "0"}, "--steps is '0'"},
      {{"generate", "-p", "a", "--cfg-scale", "0.5"},
       "--cfg-scale is '0.5': it takes a number from 1 to 1000"},
      {{"generate", "--prompts-file", ""}, "--prompts-file is empty"},
      {{"generate", "-p", "-", "--prompts-file", "-"}, "standard input is named twice"},
      {{"help", "generat"}, "did you mean generate?"},
      {{"generate", "--prompt", "a", "--seed", "18446744073709551616"}, "--seed is '18446744073709551616'"},
      {{"generate", "--prompt", "a", "--guidance", "nan"}, "--guidance is 'nan'"},
      {{"generate", "--prompt", "a", "--threads", "0"}, "--threads is '0'"},
      {{"generate", "--prompt", "a", "--max-sequence-length", "0"}, "--max-sequence-length is '0'"},
      {{"generate", "--prompt", "a", "--image", "a.png", "--strength", "1.5"}, "--strength is '1.5'"},
      {{"generate", "--prompt", "a", "--strength", "0.5"}, "--strength requires --image"},
      {{"generate", "--prompt", "a", "--image", "a.png", "--latents", "b"}, "excludes"},
      {{"generate", "--prompt", "a", "--output", "a.gif"}, "pictures are not written as '.gif'"},
      {{"generate", "--prompt", "a", "--output", "x.png", "--trace", "./x.png"}, "would be written twice"},
      {{"generate", "--prompt", "a", "--vae-precision", "f8"}, "--vae-precision is 'f8'"},
      {{"generate", "--prompt", "a", "--model", ""}, "--model is empty"},
      {{"tokenize", "--text", "a", "--model", ""}, "--model is empty"},
      {{"generate", "--prompt", "a", "--seed=", "--json"}, "--seed is ''"},
      {{"compare", "--prompt", "a", "b"}, "compare takes one prompt"},
      {{"compare", "--prompt", "a", "--policies", "quality,bf16+flash+flash"},
       "has +flash twice: give it once"},
      {{"compare", "--prompt", "a", "--policies", "bf16+flash+no-flash"},
       "has +flash and +no-flash: give one"},
      {{"policy", "--training", "BF16"},
       "is not the name of a training policy: it takes f32, naive-f16, amp-f16"},
      {{"compare", "--prompt", "a", "--policies", "quality,zap"}, "'zap' names no policy"},
      {{"compare", "--prompt", "a", "--policies", "f32,f32"}, "names quality twice"},
  };
  for (const Case& wrong : cases) {
    const auto result = run(wrong.arguments);
    INFO(wrong.says << " | " << result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.one_line_error());
    CHECK_THAT(result.err, Catch::Contains(wrong.says));
  }
}

TEST_CASE("PRECAST_THREADS is the number of threads, and anything else is one line") {
  const Scratch scratch;
  const std::vector<std::string> words = {
      "generate", "--prompt", "a", "--steps", "1", "--output", (scratch.path() / "a.png").string()};
  CHECK(run(words, "PRECAST_THREADS=1").code == 0);
  const auto wrong = run(words, "PRECAST_THREADS=all");
  CHECK(wrong.code == 1);
  CHECK(wrong.one_line_error());
  CHECK_THAT(wrong.err, Catch::Contains("PRECAST_THREADS is 'all'"));
  // It is the default of --threads alone.
  CHECK(run(program::with(words, {"--threads", "1"}), "PRECAST_THREADS=all").code == 0);
  const auto compared = run({"compare", "--prompt", "a", "--steps", "1", "--policies", "quality", "--threads",
                             "1", "--output", (scratch.path() / "c.png").string()},
                            "PRECAST_THREADS=0");
  CHECK_THAT(compared.err, !Catch::Contains("PRECAST_THREADS"));
}

TEST_CASE("a file that is not what it should be is one line with its name and exit code 1") {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const std::string cut = scratch.file("cut.safetensors", std::string("\x40\0\0\0\0\0\0\0{", 9));
  const std::string noise = scratch.file("noise.safetensors", "not a header at all");
  const std::string broken_config =
      scratch.file("broken/config.json", R"({"_class_name": "FluxTransformer2DModel", )"
                                         R"("num_layers": -1})");
  const std::string text_file = scratch.file("text.txt", "hello");
  const std::string empty = scratch.file("empty/readme", "");
  const std::string picture = scratch.file("picture.png", "not a picture");
  std::filesystem::create_directories(scratch.path() / "folder.png");
  struct Case {
    std::vector<std::string> arguments;
    std::string names;
  };
  const std::string model = golden_models + "one_level";
  const std::string cut_model = here + "/cut_model";
  std::filesystem::copy(model, cut_model, std::filesystem::copy_options::recursive);
  const std::string cut_weights = cut_model + "/vae/diffusion_pytorch_model.safetensors";
  std::filesystem::resize_file(cut_weights, std::filesystem::file_size(cut_weights) - 7);
  const std::vector<Case> cases{
      {{"inspect", here + "/nothing"}, here + "/nothing"},
      {{"inspect", cut}, cut},
      {{"inspect", noise}, noise},
      {{"inspect", text_file}, text_file},
      {{"inspect", program::source + "/docs/images/compare.png"}, "is a picture: 'precast info'"},
      {{"inspect", here + "/empty"}, here + "/empty"},
      {{"inspect", scratch.file("plan.json", "{\"types\": {}}")}, "plan.json: names no class"},
      {{"inspect", here + "/broken"}, broken_config + ": key 'num_layers'"},
      {{"inspect", broken_config}, broken_config + ": key 'num_layers'"},
      {{"tokenize", "--model", here + "/nothing", "--text", "a"}, here + "/nothing"},
      {{"generate", "--model", here + "/nothing", "--prompt", "a", "--output", here + "/a.png"},
       here + "/nothing"},
      {{"generate", "--model", here + "/empty", "--prompt", "a", "--output", here + "/a.png"},
       here + "/empty"},
      {{"generate", "--prompt", "a", "--output", here + "/no/a.png"}, here + "/no/a.png"},
      {{"generate", "--prompt", "a", "--output", here + "/folder.png"}, here + "/folder.png"},
      {{"generate", "--prompt", "a", "--output", here + "/a.png", "--trace", here + "/no/t"}, here + "/no/t"},
      {{"generate", "--prompt", "a", "--output", here + "/a.png", "--save-latents", here}, here},
      {{"generate", "--prompt", "a", "--output", "/dev/full"}, "/dev/full"},
      {{"generate", "--model", cut_model, "--prompt", "a", "--output", here + "/a.png"}, cut_weights},
      {{"compare", "--model", cut_model, "--prompt", "a", "--output", here + "/a.png"}, cut_weights},
      {{"generate", "--model", model, "--prompt", "a", "--output", here + "/a.png", "--width", "16384",
        "--height", "16384", "--batch", "1024"},
       model + "/"},
      {{"generate", "--model", model, "--prompt", "a", "--output", here + "/a.png", "--image", picture},
       picture},
      {{"generate", "--model", model, "--prompt", "a", "--output", here + "/a.png", "--image",
        here + "/no.png"},
       here + "/no.png"},
      {{"generate", "--model", model, "--prompt", "a", "--output", here + "/a.png", "--latents", noise},
       noise},
      {{"compare", "--model", here + "/nothing", "--prompt", "a", "--output", here + "/a.png"},
       here + "/nothing"},
      {{"compare", "--prompt", "a", "--output", here + "/no/a.png"}, here + "/no/a.png"},
  };
  for (const Case& wrong : cases) {
    const auto result = run(wrong.arguments);
    INFO(wrong.names << " | " << result.err);
    CHECK(result.code == 1);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Catch::Contains("precast: error: ") && Catch::Contains(wrong.names));
    CHECK(result.one_line_error());
  }
  CHECK_FALSE(std::filesystem::exists(here + "/a.png"));
  // A picture is worth more than what was to be written about it.
  const auto traced = run({"generate", "--prompt", "a", "--output", here + "/traced.png", "--width", "64",
                           "--height", "64", "--steps", "8", "--quiet", "--trace", here + "/trace.json"},
                          "ulimit -f 100;");
  CHECK(traced.code == 1);
  CHECK_THAT(traced.err, Catch::Contains(here + "/trace.json: could not be written: File too large"));
  CHECK(std::filesystem::exists(here + "/traced.png"));
  // The others fail as they are printed, longer than a buffer is, and not as they are flushed.
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"formats"}, Words{"autocast", "--json"}, Words{"completions", "bash"}}) {
    const auto full = run(words, "", ">/dev/full");
    INFO(words.front());
    CHECK(full.code == 1);
    CHECK_THAT(full.err, Catch::Contains("could not write to standard output: No space left on device"));
    const auto closed = run(words, "{", ">&3; } 3>&1 | :");  // a pipe that nobody reads
    CHECK(closed.err.empty());
  }
  const auto unset = run({"tokenize", "--text", "a"}, "PRECAST_SHAPES=" + here + "/nothing");
  CHECK(unset.code == 1);
  CHECK_THAT(unset.err, Catch::Contains("the environment variable PRECAST_SHAPES is " + here +
                                        "/nothing, which does not exist"));
}

TEST_CASE("inspect: full depth by accounting, from a config alone") {
  const Scratch scratch;
  scratch.file(
      "dev/transformer/config.json",
      R"({"_class_name": "FluxTransformer2DModel", "attention_head_dim": 128, "guidance_embeds": true,
                   "in_channels": 64, "joint_attention_dim": 4096, "num_attention_heads": 24, "num_layers": 19,
                   "num_single_layers": 38, "patch_size": 1, "pooled_projection_dim": 768})");
  for (const std::string path : {"/dev", "/dev/transformer", "/dev/transformer/config.json"}) {
    const auto text = run({"inspect", scratch.path().string() + path});
    REQUIRE(text.code == 0);
    for (const char* number : {"19 x 339,738,624", "38 x 141,557,760", "11,834,228,736", "11,837,294,656",
                               "3,065,920", "64,124,992", "19,456", "11,901,408,320", "44.3 GiB", "22.2 GiB"})
      CHECK_THAT(text.out, Catch::Contains(number));
    const nlohmann::json accounting =
        run({"inspect", "--json", scratch.path().string() + path}).json()["accounting"];
    CHECK(accounting["quantisable"] == 11837294656);
    CHECK(accounting["quantisable_without_biases"] == 11834228736);
    CHECK(accounting["biases"] == 3065920);
    CHECK(accounting["entry_and_exit"] == 64124992);
    CHECK(accounting["norm_scales"] == 19456);
  }
}

TEST_CASE("inspect: a model, a component and a file") {
  const auto model = run({"inspect", golden_models + "dev_f16", "--json"});
  REQUIRE(model.code == 0);
  const nlohmann::json json = model.json();
  CHECK(json["kind"] == "model");
  std::set<std::string> names;
  for (const nlohmann::json& component : json["components"])
    names.insert(component["name"].get<std::string>());
  CHECK(names == std::set<std::string>{"text_encoder", "text_encoder_2", "transformer", "vae", "scheduler",
                                       "tokenizer", "tokenizer_2"});
  for (const nlohmann::json& component : json["components"])
    if (component["name"] == "transformer") {
      CHECK(component["dtypes"].contains("f16"));
      CHECK(component["parameters"] == json["accounting"]["parameters"]);
      CHECK(component["tensors"].size() > 50);
    }
  CHECK_FALSE(json["memory"].empty());
  for (const auto& [preset, memory] : json["memory"].items()) CHECK(memory["peak"] > 0);
  const auto shards = run({"inspect", golden_models + "static_sharded/transformer", "--json"}).json();
  CHECK(shards["kind"] == "component");
  std::size_t shard_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_models + "static_sharded/transformer"))
    shard_files += entry.path().extension() == ".safetensors";
  CHECK(shard_files > 1);
  CHECK(shards["components"][0]["files"].size() == shard_files);
  const auto file =
      run({"inspect", golden_models + "dev_f32/vae/diffusion_pytorch_model.safetensors", "--tensors"});
  CHECK(file.code == 0);
  CHECK_THAT(file.out, Catch::Contains("decoder.conv_in.weight"));
}
