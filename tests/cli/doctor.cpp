// precast doctor: what it finds in models that are well and in models that are not, what it recommends, and
// the header that it writes.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "given.hpp"
#include "overflow_variant.hpp"

using program::run;
using program::Scratch;
using program::small_flux;
using program::Words;

namespace {

nlohmann::json examined(const std::string& model, const Words& options = {}) {
  Words words{"doctor", "--model", model, "--prompt", "a cat", "--steps", "2", "--threads", "1", "--json"};
  words.insert(words.end(), options.begin(), options.end());
  const auto outcome = run(words);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return outcome.json();
}

nlohmann::json policy_of(const nlohmann::json& report, const std::string& name) {
  for (const nlohmann::json& policy : report["policies"])
    if (policy["name"] == name) return policy;
  FAIL("no policy is called " << name);
  return {};
}

/// Whether a C++ file compiles that includes a header; `checks` follow it.
bool compiles(const Scratch& scratch, const std::string& header, const std::string& checks) {
  const std::string source = scratch.file("uses.cpp", "#include \"" + header + "\"\n" + checks + "\n");
  const std::string line = std::string(PRECAST_CXX) + " -std=c++20 -fsyntax-only -I " +
                           program::quoted(PRECAST_SOURCE_DIR "/include") + " " + program::quoted(source) +
                           " 2>/dev/null";
  return std::system(line.c_str()) == 0;
}

}  // namespace

TEST_CASE("doctor: models that are well are safe under every path, in every component", "[many_runs]") {
  struct Case {
    std::string model;
    Words components, options;
    std::size_t policies;
  };
  for (const auto& [model, components, options, policies] :
       {Case{program::stable_diffusion_models + "sd15", {"text_encoder", "unet", "vae"}, {}, 26},
        Case{small_flux,
             {"text_encoder", "text_encoder_2", "transformer", "vae"},
             {"--policies", "quality,fast,f16", "--max-sequence-length", "32"},
             3}}) {
    INFO(model);
    const nlohmann::json report = examined(model, options);
    CHECK(report["policies"].size() == policies);
    CHECK(report["reference"] == "quality");
    for (const nlohmann::json& policy : report["policies"]) {
      INFO(policy["name"]);
      CHECK(policy["verdict"] == "safe");
      CHECK(policy["treatment"].is_null());
      CHECK(policy["seconds"] > 0);
      CHECK(policy["peak_bytes"] > 0);
      CHECK(policy["needed_bytes"] > 0);
      CHECK(policy["ops"].size() > 20);
      for (const std::string& name : components) {
        const nlohmann::json component = policy["components"].at(name);
        CHECK(component["largest"] > 0);
        // What some op gave, and no op more.
        double largest = 0;
        for (const nlohmann::json& op : policy["ops"])
          if (op["path"].get<std::string>().starts_with(name + "."))
            largest = std::max(largest, op["max_abs"].get<double>());
        CHECK(component["largest"] == largest);
      }
    }
    const nlohmann::json f16 = policy_of(report, "f16"), f32 = policy_of(report, "quality");
    CHECK(f16["psnr"] > 30);
    CHECK(f32["psnr"].is_null());
    // The headroom of f16 is that of its largest result; text encoders of f16 give f16.
    const double largest = f16["components"]["text_encoder"]["largest"];
    CHECK(f16["components"]["text_encoder"]["headroom"].get<double>() == Approx(65504 / largest));
    CHECK(report["recommended"]["verdict"] == "safe");
  }
}

TEST_CASE(
    "doctor: XL, its refiner and a latent consistency model are examined in the components that they have") {
  const std::vector<std::pair<std::string, Words>> models{
      {"sdxl", {"text_encoder", "text_encoder_2", "unet", "vae"}},
      {"refiner", {"text_encoder_2", "unet", "vae"}},
      {"lcm", {"text_encoder", "unet", "vae"}}};
  for (const auto& [model, components] : models) {
    INFO(model);
    const nlohmann::json report =
        examined(program::stable_diffusion_models + model, {"--policies", "quality,fast,f16"});
    REQUIRE(report["policies"].size() == 3);
    for (const nlohmann::json& policy : report["policies"]) {
      INFO(policy["name"]);
      CHECK(policy["verdict"] == "safe");
      CHECK(policy["components"].size() == components.size());
      for (const std::string& name : components) CHECK(policy["components"].at(name)["largest"] > 0);
    }
    CHECK(policy_of(report, "f16")["psnr"] > 30);
    CHECK(report["recommended"]["verdict"] == "safe");
  }
}

TEST_CASE("doctor: a model and its refiner are examined together, and the command has both") {
  const std::string models = program::stable_diffusion_models;
  const nlohmann::json report = examined(models + "sdxl", {"--policies", "quality,f16", "--refiner",
                                                           models + "refiner", "--refiner-start", "0.5"});
  const Words components{"text_encoder",           "text_encoder_2", "unet",
                         "refiner.text_encoder_2", "refiner.unet",   "vae"};
  for (const nlohmann::json& policy : report["policies"]) {
    INFO(policy["components"].dump());
    CHECK(policy["verdict"] == "safe");
    CHECK(policy["components"].size() == components.size());
    for (const std::string& name : components) CHECK(policy["components"].at(name)["largest"] > 0);
  }
  const Words words = report["recommended"]["command"];
  for (const auto& [option, value] :
       {std::pair{"--refiner", models + "refiner"}, {"--refiner-start", std::string("0.5")}}) {
    const auto place = std::ranges::find(words, option);
    REQUIRE(std::distance(place, words.end()) > 1);
    CHECK(*std::next(place) == value);
  }
}

TEST_CASE("doctor: a refiner's overflow is cured as the base's") {
  const Scratch scratch;
  const std::string models = program::stable_diffusion_models;
  const std::string overflows = program::overflow_variant(scratch, models + "refiner", "values");
  const nlohmann::json report = examined(
      models + "sdxl", {"--policies", "quality,f16", "--refiner", overflows, "--refiner-start", "0.5"});
  const nlohmann::json f16 = policy_of(report, "f16");
  CHECK(f16["verdict"] == "overflows");
  CHECK_THAT(f16["first_non_finite"].dump(), Catch::Contains("refiner.unet."));
  CHECK(f16["treatment"]["run"]["psnr"] > 30);
}

TEST_CASE("doctor: the share of values below a format's normal numbers, by component") {
  const Scratch scratch;
  const std::string sd15 = program::stable_diffusion_models + "sd15";
  const auto below = [](const std::string& model) {
    return policy_of(examined(model, {"--policies", "quality"}), "quality")["components"];
  };
  const nlohmann::json well = below(sd15), large = below(program::overflow_variant(scratch, sd15, "decoder"));
  for (const char* component : {"text_encoder", "unet", "vae"}) {
    const nlohmann::json shares = well[component]["below_normal"];
    CHECK(shares["f16"] > 0);
    CHECK(shares["f16"] < 0.01);
    CHECK(shares["bf16"] == shares["f32"]);  // which have the same exponents
  }
  // Larger activations leave fewer values below, and other components alone.
  CHECK(large["vae"]["below_normal"]["f16"] < well["vae"]["below_normal"]["f16"]);
  CHECK(large["unet"]["below_normal"] == well["unet"]["below_normal"]);
}

TEST_CASE("doctor: a preset that overflows is cured by what its trace names, component by component") {
  struct Case {
    const char* failure;
    Words changes;
  };
  for (const Case& failure :
       {Case{"decoder", {"--vae-precision bf16"}}, Case{"values", {"--unet-precision bf16"}}}) {
    INFO(failure.failure);
    const Scratch scratch;
    const std::string model =
        program::overflow_variant(scratch, program::stable_diffusion_models + "sd15", failure.failure);
    const nlohmann::json report = examined(model, {"--policies", "quality,fast,memory,f16+flash"});
    CHECK(policy_of(report, "quality")["verdict"] == "safe");
    CHECK(policy_of(report, "fast")["verdict"] == "safe");
    for (const char* name : {"memory", "f16+flash"}) {
      const nlohmann::json policy = policy_of(report, name);
      CHECK(policy["verdict"] == "overflows");
      CHECK(policy["black"] == true);
      CHECK(policy["seconds"].is_null());
      CHECK(policy["headroom"].is_null());
      CHECK(policy["treatment"]["changes"] == failure.changes);
      CHECK(policy["treatment"]["cured"] == true);
      CHECK(policy["treatment"]["run"]["psnr"] > 30);
    }
  }
}

TEST_CASE(
    "doctor: scores that overflow are cured by casting attention up, and an unsafe path that is no preset is "
    "told") {
  const Scratch scratch;
  const std::string model =
      program::overflow_variant(scratch, program::stable_diffusion_models + "sd15", "scores");
  const auto outcome = run({"doctor", "--model", model, "--prompt", "a cat", "--steps", "2", "--threads", "1",
                            "--policies", "quality,f16,f16+upcast-matmul,fast"});
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("f16, f16+upcast-matmul: first non-finite value") &&
                              Catch::Contains("f16: cured by --upcast-attention\n") &&
                              Catch::Contains("--upcast-attention cures it") &&
                              Catch::Contains("recommended: ") && Catch::Contains("text_encoder"));
  CHECK_THAT(outcome.err, Catch::Contains("4 of 4") && Catch::Contains(" left"));
  const nlohmann::json report = examined(model, {"--policies", "f16"});
  CHECK(policy_of(report, "f16")["treatment"]["changes"] == Words{"--upcast-attention"});
  CHECK(report["recommended"]["name"] == "memory");
  CHECK(report["recommended"]["reason"] == "the cure of the one policy that was asked for");
}

TEST_CASE("doctor: scores that come near f16's end are in the headroom, and what keeps them in f32 is told") {
  const Scratch scratch;
  const std::string sd15 = program::stable_diffusion_models + "sd15";
  const std::string model = program::overflow_variant(scratch, sd15, "scores", "64");
  const nlohmann::json report = examined(model, {"--policies", "quality,f16,f16+flash,memory"});
  const nlohmann::json encoder = policy_of(report, "f16")["components"]["text_encoder"];
  // Of the same model in f32: 64 times 2048 over the root of a head's width, and what the others give.
  const double score = policy_of(report, "quality")["components"]["text_encoder"]["largest_score"];
  CHECK(score > 65504 / 2.0);
  CHECK(score < 65504);
  CHECK(encoder["largest_score"].get<double>() == Approx(score).epsilon(1e-3));
  CHECK(encoder["score_at"] == "text_encoder.layers.0.self_attn");
  CHECK(encoder["headroom"].get<double>() == Approx(65504 / encoder["largest_score"].get<double>()));
  CHECK(policy_of(report, "f16")["verdict"] == "close");
  // The results are as small as before: without the scores the same policy would be called safe.
  CHECK(encoder["largest"] < 65504 / 10.0);
  for (const char* name : {"f16+flash", "memory"}) {
    CHECK(policy_of(report, name)["verdict"] == "safe");
    CHECK(policy_of(report, name)["components"]["text_encoder"]["headroom"] > 10);
    CHECK(policy_of(report, name)["components"]["text_encoder"]["largest_score"].is_null());
  }
  const auto outcome = run({"doctor", "--model", model, "--prompt", "a cat", "--steps", "2", "--threads", "1",
                            "--policies", "f16", "--quiet"});
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("f16: scores inside of text_encoder.layers.0.self_attn reach 5") &&
                              Catch::Contains("--upcast-attention keeps them in f32, and so does --flash"));
}

TEST_CASE(
    "doctor: what a convolution cannot take is cured by casting convolutions up, with what that path needs") {
  const Scratch scratch;
  const std::string model =
      program::overflow_variant(scratch, program::stable_diffusion_models + "sd15", "convolution");
  const nlohmann::json report = examined(model, {"--policies", "f16,f16+upcast-conv,memory"});
  CHECK(policy_of(report, "f16")["treatment"]["changes"] == Words{"--upcast-conv"});
  CHECK(policy_of(report, "f16")["treatment"]["cured"] == true);
  CHECK(policy_of(report, "f16+upcast-conv")["verdict"] == "safe");
  // No path casts up convolutions and attention alone.
  CHECK(policy_of(report, "memory")["treatment"]["changes"] == Words{"--upcast-conv", "--upcast-matmul"});
  CHECK(policy_of(report, "memory")["treatment"]["cured"] == true);
  CHECK(policy_of(report, "memory")["treatment"]["run"]["policy"] ==
        "f16+upcast-attention+upcast-matmul+upcast-conv");
}

TEST_CASE("doctor: Flux's scores too, whose cure is run and recommended", "[many_runs]") {
  const Scratch scratch;
  const nlohmann::json report =
      examined(program::overflow_variant(scratch, small_flux, "scores"),
               {"--policies", "f16,f16+upcast-attention", "--max-sequence-length", "32"});
  CHECK(policy_of(report, "f16")["treatment"]["cured"] == true);
  CHECK(policy_of(report, "memory")["verdict"] == "safe");
}

TEST_CASE("doctor: what is recommended is a header that compiles and a command that draws") {
  const Scratch scratch;
  const std::string model =
      program::overflow_variant(scratch, program::stable_diffusion_models + "sd15", "decoder");
  const std::string header = (scratch.path() / "policy.hpp").string();
  const nlohmann::json report = examined(model, {"--policies", "memory", "--output", header});
  CHECK(report["recommended"]["header"] == header);
  const std::string same =
      "static_assert(std::is_same_v<recommended::ModelPolicy::transformer, "
      "precast::policy_named<\"f16_upcast_attention\">>);\n"
      "static_assert(std::is_same_v<recommended::ModelPolicy::text_encoder, "
      "precast::policy_named<\"f16_upcast_attention\">>);\n";
  const std::string vae =
      "static_assert(std::is_same_v<recommended::ModelPolicy::vae, "
      "precast::policy_named<\"bf16_upcast_attention\">>);\n";
  const std::string include = "#include <precast/policy/policy_path.hpp>\n#include <type_traits>\n";
  CHECK(compiles(scratch, header, include + same + vae));
  CHECK_FALSE(compiles(scratch, header,
                       include + "static_assert(std::is_same_v<recommended::ModelPolicy::vae, "
                                 "recommended::ModelPolicy::transformer>);"));
  Words words = report["recommended"]["command"];
  REQUIRE(words.size() > 2);
  words.erase(words.begin());
  const std::string picture = (scratch.path() / "drawn.png").string();
  words.insert(words.end(), {"--output", picture, "--json"});
  const auto drawn = run(words);
  REQUIRE(drawn.code == 0);
  CHECK(drawn.json()["non_finite"]["pixels"] == 0);
  CHECK(drawn.json()["precision"] == report["recommended"]["name"]);
}

TEST_CASE(
    "doctor: the header of an XL model has the VAE's policy that its force_upcast makes, and so has a "
    "picture") {
  const Scratch scratch;
  const std::string header = (scratch.path() / "policy.hpp").string();
  const nlohmann::json report =
      examined(program::stable_diffusion_models + "sdxl", {"--policies", "memory", "--output", header});
  CHECK(report["recommended"]["name"] == "memory");
  CHECK(report["recommended"]["policies"]["vae"] == "Policy<Storage<f32>>");
  CHECK_THAT(program::content(header),
             Catch::Contains("Vae<Policy<Storage<f32>>>") &&
                 Catch::Contains("TextEncoder<Policy<Storage<f16>, Upcast<Attention>>>"));
  const std::string picture = (scratch.path() / "a.png").string();
  const auto drawn = run({"generate", "--model", program::stable_diffusion_models + "sdxl", "--prompt", "a",
                          "--steps", "1", "--preset", "memory", "--output", picture, "--json"});
  REQUIRE(drawn.code == 0);
  CHECK(drawn.json()["policies"]["vae"] == "Policy<Storage<f32>>");
  CHECK(drawn.json()["policies"]["unet"] == "Policy<Storage<f16>, Upcast<Attention>>");
  // The command that info gives names the same policies.
  const Words again = run({"info", picture, "--json"}).json()["command"];
  const auto place = std::ranges::find(again, "--vae-precision");
  REQUIRE(std::distance(place, again.end()) > 1);
  CHECK(*std::next(place) == "f32");
}

TEST_CASE("doctor: a model that no policy keeps finite is told, and no header is written") {
  const Scratch scratch;
  const std::string model = (scratch.path() / "broken").string();
  std::filesystem::copy(program::stable_diffusion_models + "sd15", model,
                        std::filesystem::copy_options::recursive);
  const std::string weights = model + "/unet/diffusion_pytorch_model.safetensors";
  {
    std::fstream file(weights, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-4, std::ios::end);
    file.write("\x00\x00\xc0\x7f", 4);  // NaN
  }
  const std::string header = (scratch.path() / "policy.hpp").string();
  const auto outcome = run({"doctor", "--model", model, "--steps", "1", "--threads", "1", "--policies",
                            "quality,memory", "--output", header, "--quiet"});
  CHECK(outcome.code == 1);
  CHECK(outcome.one_line_error());
  CHECK_THAT(outcome.err, Catch::Contains("no policy that was tried stays finite") &&
                              Catch::Contains(" is not written: check the model's files\n"));
  CHECK_THAT(outcome.out, Catch::Contains("no precision option cures that"));
  // In f16 it might be a number that f16 does not have, which bf16 would cure.
  CHECK_THAT(outcome.out,
             Catch::Contains("memory: first non-finite value: ") &&
                 Catch::Contains("a weight is not a number of f16, in which they are stored, or") &&
                 Catch::Contains("--unet-precision bf16 cures it, and otherwise no"));
  CHECK_FALSE(std::filesystem::exists(header));
  // What was not tried is named.
  CHECK_THAT(run({"doctor", "--model", model, "--steps", "1", "--policies", "memory", "--quiet"}).err,
             Catch::Contains("stays finite: check the model's files, or try --policies quality\n"));
}

TEST_CASE("doctor: the recommended command has every option of the run") {
  const nlohmann::json report = examined(
      program::stable_diffusion_models + "sd15",
      {"--policies", "quality", "--seed", "7", "--guidance", "3.5", "--sampler", "ddim", "--eta", "0.5",
       "--guidance-rescale", "0.7", "--clip-skip", "2", "--negative", "a dog", "--vae-tiling"});
  const Words words = report["recommended"]["command"];
  const auto value_of = [&](const std::string& option) -> std::string {
    const auto place = std::ranges::find(words, option);
    return place == words.end() || place + 1 == words.end() ? "" : *(place + 1);
  };
  CHECK(value_of("--seed") == "7");
  CHECK(value_of("--steps") == "2");
  CHECK(value_of("--guidance") == "3.5");
  CHECK(value_of("--sampler") == "ddim");
  CHECK(value_of("--eta") == "0.5");
  CHECK(value_of("--guidance-rescale") == "0.7");
  CHECK(value_of("--clip-skip") == "2");
  CHECK(value_of("--negative") == "a dog");
  CHECK(std::ranges::count(words, "--vae-tiling") == 1);
}

TEST_CASE("doctor: where no policy is finite by itself, what is cured is what others are compared with") {
  const Scratch scratch;
  const std::string model =
      program::overflow_variant(scratch, program::stable_diffusion_models + "sd15", "decoder");
  const nlohmann::json report = examined(model, {"--policies", "memory,f16"});
  CHECK(report["reference"] == "transformer memory, text memory, vae bf16+upcast-attention");
  CHECK(policy_of(report, "memory")["treatment"]["run"]["psnr"].is_null());
  CHECK(policy_of(report, "f16")["treatment"]["run"]["psnr"] > 30);
  CHECK(policy_of(report, "f16")["psnr"] < 10);
  CHECK(policy_of(report, "f16")["verdict"] == "overflows");
}

TEST_CASE("doctor: a model that paints into pictures is examined at it, and the command does the same") {
  const Scratch scratch;
  const std::string picture = (scratch.path() / "a.png").string(), model = program::stable_diffusion_models;
  REQUIRE(run({"generate", "--model", model + "sd15", "--prompt", "a", "--steps", "1", "--output", picture})
              .code == 0);
  const nlohmann::json report = examined(model + "inpaint", {"--policies", "quality,f16", "--image", picture,
                                                             "--mask", picture, "--strength", "0.9"});
  for (const nlohmann::json& policy : report["policies"]) CHECK(policy["verdict"] == "safe");
  const std::string ops = report["policies"][0]["ops"].dump();
  CHECK_THAT(ops, Catch::Contains("vae.encoder.") && Catch::Contains("vae.decoder."));
  const Words words = report["recommended"]["command"];
  for (const auto& [option, value] :
       {std::pair{"--image", picture}, {"--mask", picture}, {"--strength", std::string("0.9")}}) {
    const auto place = std::ranges::find(words, option);
    REQUIRE(std::distance(place, words.end()) > 1);
    CHECK(*std::next(place) == value);
  }
  // Of any other model it sees the encoder too.
  const nlohmann::json from =
      examined(model + "sd15", {"--policies", "quality", "--image", picture, "--fit", "crop"});
  CHECK_THAT(from["policies"][0]["ops"].dump(), Catch::Contains("vae.encoder."));
  const auto kept = run({"doctor", "--model", model + "sd15", "--image", picture, "--strength", "0"});
  CHECK(kept.code == 2);
  CHECK(kept.out.empty());
  CHECK_THAT(kept.err, Catch::Contains("--strength leaves no step to look at"));
}

TEST_CASE("doctor: a picture that fits under no policy is told as such") {
#if PRECAST_HAS_ADDRESS_SANITIZER
  return;  // it takes more addresses than any limit leaves
#endif
  const auto outcome = run({"doctor", "--model", program::stable_diffusion_models + "sd15", "--width",
                            "16384", "--height", "16384", "--steps", "1", "--policies", "quality", "--quiet"},
                           "ulimit -v 4000000;");
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(outcome.one_line_error());
  CHECK_THAT(outcome.err, Catch::Contains("fits into memory") && Catch::Contains("--width"));
}

TEST_CASE("doctor: a file of the model is not replaced by the header") {
  const Scratch scratch;
  const std::string model = (scratch.path() / "model").string();
  std::filesystem::copy(program::stable_diffusion_models + "sd15", model,
                        std::filesystem::copy_options::recursive);
  for (const char* name :
       {"/unet/config.json", "/unet/diffusion_pytorch_model.safetensors", "/model_index.json"}) {
    const std::string before = program::content(model + name);
    const auto outcome =
        run({"doctor", "--model", model, "--steps", "1", "--policies", "quality", "--output", model + name});
    INFO(name << " | " << outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.one_line_error());
    CHECK_THAT(outcome.err, Catch::Contains("is a file of the model"));
    CHECK(program::content(model + name) == before);
  }
}

TEST_CASE("doctor: bad input is one line") {
  const Scratch scratch;
  const std::string sd15 = program::stable_diffusion_models + "sd15";
  for (const auto& [options, says] : std::vector<std::pair<Words, std::string>>{
           {{"--model", "/nowhere"}, "/nowhere"},
           {{"--model", sd15, "--prompt", "a", "b"}, "doctor takes one prompt"},
           {{"--model", sd15, "--policies", "slow"}, "'slow' names no policy"},
           {{"--model", sd15, "--policies", "f16,f16"}, "twice"},
           {{"--model", program::stable_diffusion_models + "inpaint"},
            "give it one (--image), and where (--mask)"},
           {{"--model", sd15, "--mask", "a.png"}, "--image"},
           {{"--mask", "a.png", "--image", "a.png", "--output", "a.png"}, "a.png"},
           {{"--model", sd15, "--output", "-"}, "--output is '-'"},
           {{"--model", sd15, "--output", "/nowhere/policy.hpp"}, "/nowhere"},
           {{"--model", sd15, "--steps", "0"}, "--steps"},
           {{"--model", sd15, "--width", "63"}, "63"},
           {{"--model", sd15 + ".safetensors", "--output", sd15 + ".safetensors"}, "would be replaced"},
           {{"--model", small_flux, "--sampler", "ddim"}, "--sampler is for Stable Diffusion"}}) {
    Words words{"doctor"};
    words.insert(words.end(), options.begin(), options.end());
    const auto outcome = run(words);
    INFO(says << " | " << outcome.err);
    CHECK(outcome.code != 0);
    CHECK(outcome.one_line_error());
    CHECK_THAT(outcome.err, Catch::Contains(says));
  }
}
