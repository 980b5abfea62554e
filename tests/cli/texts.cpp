// What is written beside pictures: the pictures' parameters, numbered names, latents files, traces.
#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include <catch2/catch.hpp>
#include <cli/options/preview_options.hpp>
#include <cli/picture_settings/parameters_text.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <cli/running/latents_file.hpp>
#include <cli/running/picture_run.hpp>
#include <cli/running/trace_file.hpp>
#include <cli/terminal/output.hpp>

#include <precast/error.hpp>

#include "program.hpp"

using namespace precast;
using namespace precast::cli;

TEST_CASE("the parameters of a picture") {
  families::Request request;
  request.seed = 1;
  families::ResolvedRequest used(request, {.steps = 20, .width = 64, .height = 96});
  used.guidance = 3.5;
  used.max_sequence_length = 512;
  const std::string text =
      parameters_text(used, {"a red circle", "shapes", "fast", 0, 1, false, false, "Euler"});
  CHECK_THAT(text, Catch::StartsWith(
                       "a red circle\nSteps: 20, Sampler: Euler, CFG scale: 3.5, Seed: 1, Size: 64x96, "
                       "Model: shapes, T5 length: 512, Precision: fast, Version: "));
  const std::string distilled =
      parameters_text(used, {"a red circle", "shapes", "fast", 0, 1, false, false, "Euler", true});
  CHECK_THAT(distilled, Catch::Contains("Sampler: Euler, CFG scale: 1, Distilled CFG Scale: 3.5, Seed: 1"));
  used.cfg_scale = 4;
  used.negative = "blue, green";
  CHECK_THAT(
      parameters_text(used, {"a red circle", "shapes", "fast", 0, 1, false, false, "Euler", true}),
      Catch::StartsWith("a red circle\nNegative prompt: blue, green\nSteps: 20, Sampler: Euler, CFG scale: "
                        "4, Distilled CFG Scale: 3.5, Seed: 1"));
  used.negative = "";  // is another picture than none, of XL models
  const std::string empty = parameters_text(used, {"a\nNegative prompt: b", "x", "fast"});
  CHECK_THAT(empty, Catch::StartsWith("a\nNegative prompt: b\nNegative prompt: \nSteps: 20"));
  const auto read = read_parameters(empty);
  REQUIRE(read);
  CHECK(read->prompt == "a\nNegative prompt: b");
  CHECK(read->negative == "");
  // Lines that look like the beginning of a negative prompt, in either text or in both.
  const std::vector<std::pair<std::string, std::optional<std::string>>> misleading{
      {"a\nNegative prompt: b", std::nullopt},
      {"a\n\nNegative prompt: b\nNegative prompt: c", "d"},
      {"a", "b\nNegative prompt: c"},
      {"Negative prompt: a", std::nullopt},
      {"", "\nNegative prompt:"}};
  for (const auto& [prompt, negative] : misleading) {
    INFO(prompt << " | " << negative.value_or("none"));
    used.negative = negative;
    const auto again = read_parameters(parameters_text(used, {prompt, "x", "fast"}));
    REQUIRE(again);
    CHECK(again->prompt == prompt);
    CHECK(again->negative == negative);
  }
  CHECK(parameters_text(used, {"a", "x", "fast"}).find("Prompt lines: 1") != std::string::npos);
  used.negative.reset();
  CHECK(parameters_text(used, {"a\nb", "x", "fast"}).find("Prompt lines") == std::string::npos);
  used.max_sequence_length.reset();
  used.aesthetic_score = 6.5;
  used.negative_aesthetic_score = 1;
  const auto refined =
      read_parameters(parameters_text(used, {"a", "sdxl", "fast", 0, 1, false, false, "Euler"}));
  REQUIRE(refined);
  const std::vector<std::string> scores{"--aesthetic-score", "6.5", "--negative-aesthetic-score", "1"};
  const std::vector<std::string> arguments = command_for(*refined).arguments;
  CHECK(std::search(arguments.begin(), arguments.end(), scores.begin(), scores.end()) != arguments.end());
  used.max_sequence_length = 512;
  used.aesthetic_score.reset();
  used.negative_aesthetic_score.reset();
  used.cfg_scale = 1;
  used.negative.reset();
  used.strength = 0.75;
  used.fit = image::Fit::crop;
  const std::string from_image = parameters_text(
      used, {"two\nlines, one: \"quoted\"", "a, b", "transformer fast, vae quality", 1, 2, true, false});
  CHECK_THAT(from_image, Catch::StartsWith("two\nlines, one: \"quoted\"\nSteps: 20"));
  CHECK_THAT(
      from_image,
      Catch::Contains("Model: \"a, b\", Denoising strength: 0.75, Fit: crop, Batch size: 2, Batch pos: 1"));
  CHECK_THAT(from_image, Catch::Contains("Precision: \"transformer fast, vae quality\""));
}

TEST_CASE("several pictures are numbered before the extension") {
  using Paths = std::vector<std::filesystem::path>;
  CHECK(numbered("a/out.png", 1) == Paths{"a/out.png"});
  CHECK(numbered("a/out.png", 2) == Paths{"a/out-1.png", "a/out-2.png"});
  const auto ten = numbered("out.png", 10);
  CHECK(ten.front() == "out-01.png");
  CHECK(ten.back() == "out-10.png");
  CHECK(numbered("out.png", 9).front() == "out-1.png");
  CHECK(numbered("out.png", 100).at(8) == "out-009.png");
  CHECK(numbered("out", 2) == Paths{"out-1", "out-2"});
  CHECK(numbered("v1.5.png", 2) == Paths{"v1.5-1.png", "v1.5-2.png"});
}

TEST_CASE("a preview is beside its picture, and has a name of its own where that has none") {
  PreviewOptions options;
  CHECK_FALSE(options.file("a/out.png"));
  options.every = 1;
  CHECK(options.file("a/out.jpg") == std::filesystem::path("a/out-preview.jpg"));
  for (const char* standard_output : {"-", "/dev/stdout"})
    CHECK(options.file(standard_output) == std::filesystem::path("preview.png"));
}

TEST_CASE("numbers for people and machines") {
  CHECK(with_commas(11'837'294'656) == "11,837,294,656");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(-1000) == "-1,000");
  CHECK(json_number(1.5) == 1.5);
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(json_number(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(json_number(-std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("latents go to a file and back") {
  const program::Scratch scratch;
  const auto file = scratch.path() / "latents.safetensors";
  const std::array<f32, 6> values{0.5f, -1.25f, 3, 4, 5, 6};
  const Tensor<f32> latents(Shape{1, 3, 2}, values);
  write_latents(file, latents);
  const Tensor<f32> again = read_latents(file);
  CHECK(again.shape() == Shape{1, 3, 2});
  CHECK(std::equal(values.begin(), values.end(), again.values().begin()));
  write_latents(file, Tensor<f32>(Shape{1, 1, 3, 2}, values));
  CHECK(read_latents(file).shape() == Shape{1, 1, 3, 2});
}

TEST_CASE("latents of other kinds are turned down by name") {
  const program::Scratch scratch;
  const auto tensor_file = [&](const std::string& name, const std::string& header, std::size_t bytes) {
    std::string text(8, '\0');
    text[0] = static_cast<char>(header.size());
    return scratch.file(name, text + header + std::string(bytes, '\0'));
  };
  const auto bf16_file =
      tensor_file("b", R"({"latents":{"dtype":"BF16","shape":[1,1,2],"data_offsets":[0,4]}})", 4);
  CHECK(read_latents(bf16_file).shape() == Shape{1, 1, 2});
  for (const auto& file :
       {tensor_file("name", R"({"latent":{"dtype":"F32","shape":[1,1,1],"data_offsets":[0,4]}})", 4),
        tensor_file("rank", R"({"latents":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})", 4),
        tensor_file("more", R"({"latents":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4]}})", 4),
        tensor_file("type", R"({"latents":{"dtype":"I32","shape":[1,1,1],"data_offsets":[0,4]}})", 4)})
    CHECK_THROWS_WITH(read_latents(file), Catch::StartsWith(file));
}

TEST_CASE("a trace is one JSON object, an op a line") {
  const program::Scratch scratch;
  const auto text_of = [&](TraceFile& trace) {
    trace.commit();
    return nlohmann::json::parse(program::content(scratch.path() / "trace.json"));
  };
  const watch::OpRecord linear{.path = "transformer.x_embedder",
                               .function = "linear",
                               .op = "Matmul",
                               .dtypes = {"f16", "f16", "f32", "", "f16"},
                               .shape = Shape{1, 16, 96},
                               .max_abs = 2.5};
  TraceFile of_one(scratch.path() / "trace.json");
  of_one.on_op(linear);
  const auto fine = text_of(of_one);
  CHECK(fine["first_non_finite"].is_null());
  REQUIRE(fine["ops"].size() == 1);
  CHECK(fine["ops"][0]["path"] == "transformer.x_embedder");
  CHECK(fine["ops"][0]["op"] == "Matmul");
  CHECK(fine["ops"][0]["inside"].is_null());
  CHECK(fine["ops"][0]["shape"] == nlohmann::json::array({1, 16, 96}));
  CHECK(fine["ops"][0]["max_abs"] == 2.5);
  const watch::OpRecord broken{.path = "a",
                               .function = "attention",
                               .op = "Attention",
                               .dtypes = {"f16", "f16", "f32", "f16", "f16"},
                               .shape = Shape{2, 2},
                               .max_abs = 1,
                               .nans = 3};
  TraceFile trace(scratch.path() / "trace.json");
  trace.on_op(linear);
  trace.on_op(broken);
  trace.on_non_finite({broken, 1, std::numeric_limits<double>::quiet_NaN(), 1.5, 70000, 65504});
  const auto found = text_of(trace);
  CHECK(found["ops"][1]["nan"] == 3);
  CHECK(found["first_non_finite"]["value"] == "nan");
  CHECK(found["first_non_finite"]["cure"] == "--upcast-attention");
}
