// Stable Diffusion where f16 overflows: each of its failures is made, seen as a black picture, located, and
// cured by the option that the trace names; what does not cure it leaves the picture black.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <image/metrics.hpp>
#include <image/picture_file.hpp>

#include "given.hpp"
#include "overflow_variant.hpp"

using program::run;
using program::Scratch;
using program::Words;

namespace {

/// Draws with the variant; the picture and what was said.
struct Drawn {
  program::Outcome outcome;
  precast::image::Image picture;
  nlohmann::json trace;

  bool black() const {
    return std::ranges::all_of(picture.rgb, [](std::uint8_t level) { return level == 0; });
  }
};

Drawn draw(const Scratch& scratch, const std::string& model, const Words& options) {
  const std::string picture = (scratch.path() / "drawn.png").string(),
                    trace = (scratch.path() / "trace.json").string();
  Words words{"generate", "--model", model,     "--threads", "1",        "--prompt", "a cat",
              "--steps",  "3",       "--trace", trace,       "--output", picture};
  words.insert(words.end(), options.begin(), options.end());
  Drawn drawn{run(words), {}, {}};
  REQUIRE(drawn.outcome.code == 0);
  drawn.picture = precast::image::read_image(picture).image;
  drawn.trace = nlohmann::json::parse(program::content(trace));
  return drawn;
}

/// A failure: where it is, what is named, and what is tried.
struct Failure {
  const char* made;
  const char* path;
  const char* cause;          ///< a part of the diagnosis
  const char* named;          ///< the option that the diagnosis names
  Words cures;                ///< as options
  std::vector<Words> others;  ///< what does not cure it
};

void check(const std::string& folder, const Failure& failure) {
  const Scratch scratch;
  const std::string model =
      program::overflow_variant(scratch, program::stable_diffusion_models + folder, failure.made);
  const Drawn right = draw(scratch, model, {"--preset", "quality"});
  CHECK_FALSE(right.black());
  CHECK(right.trace["first_non_finite"].is_null());

  const Drawn plain = draw(scratch, model, {"--precision", "f16", "--no-flash"});
  CHECK(plain.black());
  const nlohmann::json found = plain.trace["first_non_finite"];
  REQUIRE(found.is_object());
  INFO(found.dump());
  CHECK_THAT(found["path"].get<std::string>(), Catch::EndsWith(failure.path));
  CHECK(found["cure"] == failure.named);
  CHECK_THAT(found["diagnosis"].get<std::string>(), Catch::Contains(failure.cause));
  CHECK_THAT(plain.outcome.err, Catch::Contains(std::string(failure.named) + " cures it"));

  for (const Words& options : failure.others) {
    Words words{"--precision", "f16"};
    words.insert(words.end(), options.begin(), options.end());
    CAPTURE(words);
    CHECK(draw(scratch, model, words).black());
  }
  Words words{"--precision", "f16"};
  words.insert(words.end(), failure.cures.begin(), failure.cures.end());
  const Drawn cured = draw(scratch, model, words);
  CHECK(cured.trace["first_non_finite"].is_null());
  CHECK_THAT(cured.outcome.err, !Catch::Contains("warning"));
  // Plain bf16 is some 36 dB away from f32 in these models; black is 4.
  CHECK(precast::image::difference(right.picture, cured.picture).psnr > 30);
}

}  // namespace

TEST_CASE("f16: scores of Stable Diffusion's text encoder overflow, and --upcast-attention cures them") {
  check("sd15", {"scores",
                 "text_encoder.layers.0.self_attn",
                 "the op overflows on the way, where values reach 428",
                 "--upcast-attention",
                 {"--upcast-attention"},
                 {{"--upcast-matmul"}}});
}

TEST_CASE(
    "f16: queries that are infinite before Stable Diffusion's attention are not cured by casting it up") {
  check("sd15", {"values",
                 ".attn1.to_q",
                 "above the largest f16, 65504, which no upcast changes",
                 "--unet-precision bf16",
                 {"--unet-precision", "bf16"},
                 {{"--upcast-attention"}, {"--flash"}, {"--upcast-matmul", "--upcast-attention"}}});
}

TEST_CASE("f16: activations of Stable Diffusion's VAE overflow, and its own precision cures them") {
  check("sd15", {"decoder",
                 "vae.decoder.conv_in",
                 "above the largest f16, 65504, which no upcast changes",
                 "--vae-precision bf16",
                 {"--vae-precision", "bf16"},
                 {{"--upcast-attention"},
                  {"--upcast-conv"},
                  {"--clip-precision", "f32"},
                  {"--unet-precision", "f32"}}});
}

TEST_CASE(
    "f16: latents that a convolution of Stable Diffusion's VAE cannot take, and --upcast-conv cures them") {
  check("sd15",
        {"convolution",
         "vae.post_quant_conv",
         "f16 can hold that, but the op overflows on the way",
         "--upcast-conv",
         {"--upcast-conv"},
         {{"--upcast-attention"}, {"--upcast-matmul", "--upcast-attention"}, {"--unet-precision", "f32"}}});
}

TEST_CASE("convolutions cast up take f32 operands in every component that has some, and nothing else does") {
  const Scratch scratch;
  for (const Words& casts :
       {Words{"--upcast-conv"}, Words{"--upcast-conv", "--upcast-attention", "--upcast-matmul"}}) {
    Words words{"--precision", "f16"};
    words.insert(words.end(), casts.begin(), casts.end());
    CAPTURE(words);
    const Drawn drawn = draw(scratch, program::stable_diffusion_models + "sd15", words);
    std::size_t unet = 0, vae = 0;
    for (const nlohmann::json& op : drawn.trace["ops"]) {
      const bool is_conv = op["op"] == "Conv";
      if (!is_conv && op["op"] != "Attention" && op["op"] != "Matmul") continue;
      INFO(op.dump());
      const std::string path = op["path"];
      CHECK(op["operand"] == (is_conv || casts.size() > 1 ? "f32" : "f16"));
      CHECK(op["storage"] == "f16");
      CHECK(op["result"] == "f16");
      unet += is_conv && path.starts_with("unet");
      vae += is_conv && path.starts_with("vae");
    }
    CHECK(unet > 10);
    CHECK(vae > 10);
  }
}

TEST_CASE("f16: queries, keys and values are all infinite before the attention that reads them") {
  const Scratch scratch;
  const std::string model =
      program::overflow_variant(scratch, program::stable_diffusion_models + "sd15", "values");
  const Drawn plain = draw(scratch, model, {"--precision", "f16", "--upcast-attention"});
  std::vector<std::string> infinite;
  for (const nlohmann::json& op : plain.trace["ops"]) {
    const std::string path = op["path"];
    if (path.starts_with("unet") && op["op"] == "Attention") break;
    if (op["inf"] > 0) infinite.push_back(path.substr(path.rfind('.') + 1));
  }
  CHECK(infinite == std::vector<std::string>{"to_q", "to_k", "to_v"});
}

TEST_CASE("an XL model whose config asks for it runs its VAE in f32, which f16 would not survive") {
  const Scratch scratch;
  const std::string model =
      program::overflow_variant(scratch, program::stable_diffusion_models + "sdxl", "decoder");
  const std::string config = model + "/vae/config.json";
  nlohmann::json settings = nlohmann::json::parse(program::content(config));
  for (const bool upcast : {true, false}) {
    settings["force_upcast"] = upcast;
    std::ofstream(config) << settings.dump();
    const Drawn drawn = draw(scratch, model, {"--precision", "f16"});
    CHECK(drawn.black() != upcast);
    CHECK(drawn.trace["first_non_finite"].is_null() == upcast);
  }
}

TEST_CASE("components of Stable Diffusion have the precisions that they are given") {
  const Scratch scratch;
  const Drawn drawn = draw(scratch, program::stable_diffusion_models + "sd15",
                           {"--precision", "f32", "--unet-precision", "bf16", "--clip-precision", "f16",
                            "--upcast-attention", "--upcast-matmul"});
  for (const nlohmann::json& op : drawn.trace["ops"]) {
    const std::string path = op["path"], result = op["result"];
    if (op["op"] == "Softmax" || op["op"] == "Position") continue;  // in f32 whatever the policy
    INFO(op.dump());
    const std::string wanted = path.starts_with("unet") ? "bf16" : path.starts_with("vae") ? "f32" : "f16";
    if (op["op"] == "Attention" || op["op"] == "Matmul") CHECK(op["operand"] == "f32");
    CHECK(result == wanted);
  }
}
