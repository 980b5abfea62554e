// record --importance, and what convert and cost make of it.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/io/gguf.hpp>
#include <precast/io/safetensors.hpp>

#include "given.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace fs = std::filesystem;
using program::refused;
using program::run;
using program::Scratch;
using program::shapes_model;
using program::small_flux;

namespace {

const std::string sd15 = program::source + "/tests/golden/stable_diffusion/sd15";

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> entry(const precast::io::GgufFile& file, const std::string& name) {
  const precast::io::GgufTensor* const tensor = file.lookup(name);
  INFO(name);
  REQUIRE(tensor);
  CHECK(tensor->type.info.name == "f32");
  return floats(tensor->bytes);
}

void works(const std::vector<std::string>& arguments) {
  const auto outcome = run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
}

/// The sum over layers of a cost file's numbers of its only type.
double sum_of(const nlohmann::json& costs, const std::string& measure) {
  double sum = 0;
  for (const auto& layer : costs["layers"]) {
    CHECK(layer["types"].size() == 1);
    sum += layer["types"].begin().value()[measure].get<double>();
  }
  return sum;
}

}  // namespace

TEST_CASE("record --importance: the squares of what met each column, as imatrix has them",
          "[casting][watch]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "i.gguf").string(),
                    samples = (scratch.path() / "s.safetensors").string();
  const auto record = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line{
        "record",   "--model",  small_flux, "--prompt", "a red circle",          "--width", "32",
        "--height", "16",       "--steps",  "4",        "--max-sequence-length", "8",       "--precision",
        "f32",      "--output", samples};
    line.insert(line.end(), more.begin(), more.end());
    return run(line);
  };
  const auto plain = record({});
  REQUIRE(plain.code == 0);
  const std::string before = program::content(samples);
  const auto recorded = record({"--importance", file, "--json"});
  INFO(recorded.err);
  REQUIRE(recorded.code == 0);
  CHECK(program::content(samples) == before);  // who is watched makes the same pictures
  CHECK(recorded.json()["importance"] == file);
  CHECK_THAT(recorded.err, Catch::Contains("i.gguf: the importance of"));
  const auto inspected = run({"inspect", file});
  CHECK(inspected.code == 0);
  CHECK_THAT(inspected.out,
             Catch::Contains("the importance of a model's matrices") && !Catch::Contains("cannot be loaded"));

  const precast::io::GgufFile imatrix(file);
  CHECK(imatrix.value("general.type")->text() == "imatrix");
  for (const char* key : {"imatrix.datasets", "imatrix.chunk_count", "imatrix.chunk_size"})
    CHECK(imatrix.value(key));
  // What a modulation reads is silu(vec), which the samples have of each step.
  const std::string name = "transformer_blocks.0.norm1.linear.weight";
  const precast::io::SafetensorsFile of_steps(samples);
  std::vector<double> squares;
  for (int step = 0; step < 4; ++step) {
    const auto* const vec = of_steps.lookup(std::to_string(step) + ".vec");
    REQUIRE(vec);
    const std::vector<float> values = floats(vec->bytes);
    squares.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values[i], silu = value / (1 + std::exp(-value));
      squares[i] += silu * silu;
    }
  }
  const std::vector<float> sums = entry(imatrix, name + ".in_sum2");
  REQUIRE(sums.size() == squares.size());
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(double{sums[i]} == Approx(squares[i]).epsilon(1e-5));
  CHECK(entry(imatrix, name + ".counts") == std::vector<float>{4});
  // 32 image and 8 text tokens meet a single block; BFL's file has its matrices as one.
  CHECK(entry(imatrix, "single_transformer_blocks.0.attn.to_q.weight.counts") == std::vector<float>{4 * 40});
  // So do layers before the blocks, once a step, though each step's state is taken to the samples besides.
  CHECK(entry(imatrix, "x_embedder.weight.counts") == std::vector<float>{4 * 32});
  CHECK(entry(imatrix, "context_embedder.weight.counts") == std::vector<float>{4 * 8});
  CHECK(entry(imatrix, "time_text_embed.timestep_embedder.linear_2.weight.counts") == std::vector<float>{4});
  CHECK(entry(imatrix, "single_blocks.0.linear1.weight.in_sum2") ==
        entry(imatrix, "single_transformer_blocks.0.proj_mlp.weight.in_sum2"));
  CHECK_FALSE(imatrix.lookup("decoder.mid_block.attentions.0.to_q.weight.in_sum2"));

  // Its names are those of either layout.
  for (const std::string layout : {"diffusers", "bfl"}) {
    const std::string converted = (scratch.path() / (layout + ".gguf")).string();
    const auto outcome = run({"convert", small_flux + "/transformer", converted, "--type", "q4_0", "--layout",
                              layout, "--importance", file});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, !Catch::Contains("warning"));
  }
}

TEST_CASE("record --importance of Stable Diffusion counts the linear layers of its UNet",
          "[casting][watch]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "i.gguf").string(),
                    samples = (scratch.path() / "samples.safetensors").string();
  const auto recorded =
      run({"record", "--model", sd15, "--prompt", "a cat", "--steps", "2", "--importance", file, "--json"},
          "cd " + program::quoted(scratch.path().string()) + " &&");
  INFO(recorded.err);
  REQUIRE(recorded.code == 0);
  CHECK(recorded.json()["samples"] == 3);  // PNDM's first step makes two predictions
  CHECK(fs::exists(samples));
  const precast::io::GgufFile imatrix(file);
  CHECK(imatrix.lookup("time_embedding.linear_1.weight.in_sum2"));
  CHECK(imatrix.lookup("mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight.in_sum2"));
  works({"convert", sd15 + "/unet", (scratch.path() / "u.gguf").string(), "--type", "q4_0", "--importance",
         file});

  // Estimates of what leaves convolutions as they are, and of nothing else that has some.
  const auto measured = run({"cost", "--model", sd15, "--samples", samples, "--importance", file, "--types",
                             "q4_0,fp8_e4m3", "--output", (scratch.path() / "cost.json").string(), "--json"});
  INFO(measured.err);
  REQUIRE(measured.code == 0);
  const auto costs = measured.json();
  for (const auto& layer : costs["layers"]) {
    INFO(layer["name"]);
    CHECK(layer["types"]["q4_0"].contains("estimate"));
    CHECK_FALSE(layer["types"]["fp8_e4m3"].contains("estimate"));
  }
}

TEST_CASE("record, as generate, takes --cfg-scale for --guidance, and refuses what the model has no use for",
          "[casting][watch]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "importance.gguf").string(),
                    samples = (scratch.path() / "samples.safetensors").string();
  const auto recorded = [&](const std::vector<std::string>& guidance) {
    works(program::with({"record", "--model", sd15, "--prompt", "a cat", "--steps", "2", "--importance", file,
                         "--output", samples},
                        guidance));
    return program::content(file);
  };
  const std::string without = recorded({"--guidance", "1"});
  const bool is_without = recorded({"--cfg-scale", "1"}) == without;
  const bool is_guided = recorded({"--cfg-scale", "3"}) != without;
  CHECK(is_without);  // bytes, which are not to be shown
  CHECK(is_guided);
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--guidance", "2", "--cfg-scale", "3"}, {"--t5-precision", "f32"}}) {
    const auto refused = run(program::with({"record", "--model", sd15, "--prompt", "a cat", "--steps", "1",
                                            "--importance", file, "--output", samples},
                                           wrong));
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Catch::Contains("Stable Diffusion"));
  }
}

TEST_CASE("the importance that record wrote makes the planned model better, and estimates",
          "[casting][watch]") {
  const Scratch scratch;
  const auto at = [&](const std::string& name) { return (scratch.path() / name).string(); };
  works({"record", "--model", shapes_model, "--prompt",
         "a large red circle on a blue background, at the left", "a small green star", "--every", "4",
         "--precision", "f32", "--output", at("s.safetensors"), "--importance", at("i.gguf")});
  const std::vector<std::string> convert{
      "convert", shapes_model + "/transformer", "", "--type", "q4_0", "--encoder", "search", "--quiet"};
  const auto cost_of = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> line = convert;
    line[2] = at(name + ".gguf");
    line.insert(line.end(), more.begin(), more.end());
    works(line);
    works({"cost", "--model", shapes_model, "--samples", at("s.safetensors"), "--policy", "f32", "--types",
           "q4_0", "--patch", at(name + ".gguf"), "--output", at(name + ".json")});
    nlohmann::json costs = nlohmann::json::parse(program::content(at(name + ".json")));
    for (auto& layer : costs["layers"]) layer["types"].erase("q4_0");
    return sum_of(costs, "cost");
  };
  const double plain = cost_of("plain", {}), weighed = cost_of("weighed", {"--importance", at("i.gguf")});
  INFO(plain << " and with importance " << weighed);
  CHECK(weighed < plain);

  const auto estimated = run({"cost", "--model", shapes_model, "--estimates-only", "--importance",
                              at("i.gguf"), "--types", "q8_0,q4_0", "--output", at("e.json"), "--csv"});
  INFO(estimated.err);
  REQUIRE(estimated.code == 0);
  CHECK_THAT(estimated.out, Catch::Contains("transformer_blocks.0,") && !Catch::Contains(",,") &&
                                !Catch::Contains("rank correlation"));
  const auto of_matrices =
      run({"cost", "--model", shapes_model, "--estimates-only", "--importance", at("i.gguf"), "--types",
           "q8_0,q4_0", "--granularity", "matrix", "--output", at("e.json")});
  CHECK(of_matrices.code == 1);
  CHECK_THAT(of_matrices.err, Catch::Contains("another measurement"));
  CHECK_THAT(nlohmann::json::parse(program::content(at("e.json")))["estimates"].get<std::string>(),
             Catch::StartsWith("importance ") && Catch::EndsWith(", by the reference encoder"));
  // The importance of another prompt: no estimate of it stands beside the others.
  works({"record", "--model", shapes_model, "--prompt", "a small green star", "--every", "8", "--precision",
         "f32", "--output", at("t.safetensors"), "--importance", at("j.gguf")});
  const auto of_another = run({"cost", "--model", shapes_model, "--estimates-only", "--importance",
                               at("j.gguf"), "--types", "q5_0", "--output", at("e.json")});
  CHECK(of_another.code == 1);
  CHECK(of_another.one_line_error());
  CHECK_THAT(of_another.err, Catch::Contains("holds estimates from importance") && Catch::Contains("j.gguf"));
  works({"cost", "--model", shapes_model, "--estimates-only", "--importance", at("j.gguf"), "--types", "q5_0",
         "--output", at("f.json")});
  const auto merged = run({"cost", "--merge", at("e.json"), at("f.json"), "--output", at("g.json")});
  CHECK(merged.code == 1);
  CHECK_THAT(merged.err, Catch::Contains("differ in \"estimates\""));
  const auto measured = run({"cost", "--model", shapes_model, "--samples", at("s.safetensors"), "--policy",
                             "f32", "--importance", at("i.gguf"), "--types", "q8_0,q4_0", "--jobs", "2",
                             "--output", at("e.json"), "--measure", "estimate", "--csv"});
  INFO(measured.err);
  REQUIRE(measured.code == 0);
  CHECK_THAT(measured.out, Catch::Contains("rank correlation with relative_loss,") &&
                               Catch::Contains("rank correlation with relative_cost,"));
  works(
      {"plan", "--cost", at("e.json"), "--measure", "estimate", "--bits", "6", "--output", at("plan.json")});
  works({"report", "--cost", at("e.json"), "--output", at("report.html")});
  CHECK_THAT(program::content(at("report.html")),
             Catch::Contains("Table: estimate") && Catch::Contains("rank correlation with relative_cost"));
}

TEST_CASE("what importances and jobs are refused for is one line", "[casting]") {
  const Scratch scratch;
  const auto at = [&](const std::string& name) { return (scratch.path() / name).string(); };
  const std::vector<std::string> record{"record", "--model",  small_flux,          "--prompt",
                                        "a",      "--output", at("s.safetensors"), "--importance"};
  const auto recording = [&](const std::string& file) {
    std::vector<std::string> line = record;
    line.push_back(file);
    return line;
  };
  refused(recording("-"), 2, "--importance is '-'");
  refused(recording(at("i.dat")), 2, "ends in .gguf");
  refused(recording(at("none/i.gguf")), 1, "none");
  refused({"cost", "--model", small_flux, "--estimates-only"}, 2, "needs --importance");
  refused({"cost", "--model", small_flux, "--estimates-only", "--importance", at("i.gguf"), "--samples", "s"},
          2, "runs nothing");
  refused({"cost", "--model", small_flux, "--estimates-only", "--importance", at("i.gguf")}, 1, "i.gguf");
  refused({"cost", "--model", small_flux, "--samples", "s", "--jobs", "0"}, 2, "--jobs");
  const std::string costs =
      scratch.file("a.json", R"({"layers": [{"name": "x.0", "types": {"q8_0": {"cost": 1}}}]})");
  refused({"cost", "--merge", costs, costs, "--output", at("o.json")}, 2, "twice");
  refused({"cost", "--merge", costs, at("./a.json"), "--output", at("o.json")}, 2, "twice");
  const std::string others =
      scratch.file("b.json", R"({"layers": [{"name": "x.0", "types": {"q8_0": {"cost": 2}}}]})");
  refused({"cost", "--merge", costs, others, "--output", at("o.json")}, 1,
          "differ in the numbers of layer 'x.0'");
  CHECK_FALSE(fs::exists(at("o.json")));
}
