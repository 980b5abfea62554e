// record and cost as a user runs them: samples, numbers that are kept, tables, and what is refused.
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <image/metrics.hpp>
#include <image/picture_file.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/io/safetensors.hpp>
#include <precast/io/safetensors_writer.hpp>
#include <precast/tensor/rounded_up.hpp>

#include "given.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace fs = std::filesystem;
using program::refused;
using program::run;
using program::Scratch;
using program::small_flux;

namespace {

/// Samples of the small model in the folder; its name.
std::string small_samples(const Scratch& scratch) {
  const std::string file = (scratch.path() / "samples.safetensors").string();
  const auto recorded = run(
      {"record",   "--model",     small_flux, "--prompt", "a red circle", "--width", "32",
       "--height", "16",          "--steps",  "4",        "--every",      "2",       "--max-sequence-length",
       "8",        "--precision", "f32",      "--output", file,           "--json"});
  INFO(recorded.err);
  REQUIRE(recorded.code == 0);
  CHECK(recorded.json()["samples"] == 2);
  CHECK_THAT(recorded.err, Catch::Contains("2 samples of 40 tokens"));
  return file;
}

std::vector<std::string> cost(const std::string& samples, const std::string& output,
                              const std::vector<std::string>& more) {
  return program::with(
      {"cost", "--model", small_flux, "--samples", samples, "--output", output, "--policy", "f32"}, more);
}

/// The small model's transformer with its blocks' matrices in mxfp8 that was padded to tiles of 32, as
/// ComfyUI has it, and with the same values in f32: two files. All scales are equal, so that their order is,
/// too.
std::pair<std::string, std::string> write_padded_mxfp8(const Scratch& scratch) {
  const std::string padded = (scratch.path() / "padded.safetensors").string(),
                    plain = (scratch.path() / "plain.safetensors").string();
  const precast::io::SafetensorsFile source(small_flux + "/transformer/diffusion_pytorch_model.safetensors");
  constexpr std::uint8_t code_of_scale = 127 - 8;
  constexpr std::string_view announced = R"({"format": "mxfp8"})";
  struct Stored {
    std::string name;
    precast::DtypeInfo dtype;
    precast::Shape shape;
    std::vector<std::byte> bytes;
  };
  std::vector<Stored> in_padded, in_plain;
  const auto add = [](std::vector<Stored>& file, const std::string& name, const precast::DtypeInfo& dtype,
                      const precast::Shape& shape, const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    file.push_back({name, dtype, shape, {bytes.begin(), bytes.end()}});
  };
  const precast::DtypeInfo byte{"u8", 1, 1};
  for (const precast::io::TensorEntry& tensor : source.tensors()) {
    if (tensor.shape.rank() != 2 || tensor.name.find("transformer_blocks.") == tensor.name.npos) {
      add(in_padded, tensor.name, tensor.dtype.info, tensor.shape, tensor.bytes);
      add(in_plain, tensor.name, tensor.dtype.info, tensor.shape, tensor.bytes);
      continue;
    }
    const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
    const precast::Shape whole{precast::rounded_up(rows, 32), precast::rounded_up(columns, 32)};
    std::vector<precast::fp8_e4m3> codes(static_cast<std::size_t>(whole.elements()));
    std::vector<precast::f32> values;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        precast::f32 value = 0;
        std::memcpy(&value, tensor.bytes.data() + (row * columns + column) * std::int64_t{sizeof value},
                    sizeof value);
        const auto code = precast::convert<precast::fp8_e4m3>(value * 256);
        codes[static_cast<std::size_t>(row * whole[1] + column)] = code;
        values.push_back(precast::convert<precast::f32>(code) / 256);
      }
    const precast::Shape scales{precast::rounded_up(rows, 128), precast::rounded_up(whole[1] / 32, 4)};
    const std::string layer = tensor.name.substr(0, tensor.name.rfind('.'));
    add(in_padded, tensor.name, precast::dtype_info<precast::fp8_e4m3>, whole, codes);
    add(in_padded, layer + ".weight_scale", byte, scales,
        std::vector<std::uint8_t>(static_cast<std::size_t>(scales.elements()), code_of_scale));
    add(in_padded, layer + ".comfy_quant", byte, precast::Shape{std::ssize(announced)}, announced);
    add(in_plain, tensor.name, precast::dtype_info<precast::f32>, tensor.shape, values);
  }
  for (const auto& [path, tensors] : {std::pair(padded, in_padded), std::pair(plain, in_plain)}) {
    precast::io::SafetensorsWriter writer(path);
    for (const Stored& tensor : tensors) writer.declare(tensor.name, tensor.dtype, tensor.shape);
    for (const Stored& tensor : tensors) writer.write(tensor.bytes);
    writer.commit();
  }
  return {padded, plain};
}

}  // namespace

TEST_CASE("cost measures what record recorded, keeps it, and adds to it", "[casting]") {
  const Scratch scratch;
  const std::string samples = small_samples(scratch), output = (scratch.path() / "cost.json").string();
  const auto first = run(cost(samples, output, {"--types", "fp8_e4m3,f32", "--json"}));
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK(program::content(output) == first.out);
  const auto json = first.json();
  CHECK(json["model"] == "dev_f32");
  CHECK(json["samples"] == 2);
  REQUIRE(json["layers"].size() == 3);
  CHECK(json["layers"][0]["name"] == "transformer_blocks.0");
  for (const auto& layer : json["layers"]) {
    CHECK(layer["types"]["f32"]["cost"] == 0);
    CHECK(layer["types"]["fp8_e4m3"]["bits"] == 8);
    CHECK(layer["types"]["fp8_e4m3"]["cost"] > 0);
  }
  const auto table = run(cost(samples, output, {"--types", "FP8_E4M3,f32,bf16", "--markdown"}));
  INFO(table.err);
  REQUIRE(table.code == 0);
  CHECK_THAT(table.err, Catch::Contains("continuing from") && Catch::Contains("3 layers"));
  CHECK_THAT(
      table.out,
      Catch::StartsWith("| layer | f32 | bf16 | fp8_e4m3 |\n|---|--:|--:|--:|\n| bits | 32 | 16 | 8 |\n"));
  CHECK(nlohmann::json::parse(program::content(output))["layers"][1]["types"]["fp8_e4m3"] ==
        json["layers"][1]["types"]["fp8_e4m3"]);

  // Three shards are the whole, whatever the threads.
  std::vector<std::string> merge{
      "cost", "--csv", "--weighted", "--output", (scratch.path() / "merged.json").string(), "--merge"};
  for (const std::string shard : {"1", "2", "3"}) {
    const std::string part = (scratch.path() / ("part" + shard + ".json")).string();
    const auto measured = run(
        cost(samples, part, {"--types", "fp8_e4m3,f32,bf16", "--shard", shard + "/3", "--threads", shard}));
    INFO(measured.err);
    REQUIRE(measured.code == 0);
    CHECK(nlohmann::json::parse(program::content(part))["layers"].size() == 1);
    merge.push_back(part);
  }
  const auto merged = run(merge);
  INFO(merged.err);
  REQUIRE(merged.code == 0);
  CHECK_THAT(merged.out, Catch::StartsWith("layer,f32,bf16,fp8_e4m3\nbits,32,16,8\ntransformer_blocks.0,0,"));
  CHECK(program::content(scratch.path() / "merged.json") == program::content(output));
  CHECK_THAT(merged.err, !Catch::Contains("warning"));

  // Without the second of them a layer is missing, and nobody takes what is left for the whole.
  const std::string two = (scratch.path() / "two.json").string(),
                    lacks = json["layers"][1]["name"].get<std::string>() + ":";
  const auto without = run({"cost", "--output", two, "--merge", (scratch.path() / "part1.json").string(),
                            (scratch.path() / "part3.json").string()});
  INFO(without.err);
  CHECK(without.code == 0);
  CHECK_THAT(without.err, Catch::Contains("warning: --merge: no file has " + lacks));
  for (const auto& reader : {std::vector<std::string>{"plan", "--cost", two, "--bits", "32"},
                             {"report", "--cost", two, "--format", "csv"}})
    CHECK_THAT(run(reader).err, Catch::Contains("warning: ") && Catch::Contains("two.json lacks " + lacks));

  const auto other = run(cost(samples, output, {"--biases"}));
  CHECK(other.code == 1);
  CHECK(other.one_line_error());
  CHECK_THAT(other.err, Catch::Contains("another measurement") && Catch::Contains("biases cast"));
}

TEST_CASE("a cost run that is killed goes on with the next layer", "[casting]") {
  const Scratch scratch;
  const std::string samples = small_samples(scratch), output = (scratch.path() / "cost.json").string(),
                    whole = (scratch.path() / "whole.json").string();
  REQUIRE(run(cost(samples, whole, {"--types", "q8_0,fp8_e5m2"})).code == 0);
  // The layers of the first part are there as if a kill had come after them.
  REQUIRE(run(cost(samples, output, {"--types", "q8_0,fp8_e5m2", "--layers", "0-1"})).code == 0);
  const auto rest = run(cost(samples, output, {"--types", "q8_0,fp8_e5m2"}));
  INFO(rest.err);
  REQUIRE(rest.code == 0);
  CHECK_THAT(rest.err, Catch::Contains("which has 2 layers"));
  CHECK(program::content(output) == program::content(whole));

  const std::string killed = (scratch.path() / "killed.json").string();
  program::run_until(program::exists(killed), "KILL", cost(samples, killed, {"--types", "q8_0,fp8_e5m2"}));
  const auto after = run(cost(samples, killed, {"--types", "q8_0,fp8_e5m2"}));
  INFO(after.err);
  REQUIRE(after.code == 0);
  CHECK(program::content(killed) == program::content(whole));
}

TEST_CASE("a layer of a file that convert wrote costs what its cast costs", "[casting]") {
  const Scratch scratch;
  const auto at = [&](const char* name) { return (scratch.path() / name).string(); };
  const std::string shapes = std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model";
  const auto well = [](const std::vector<std::string>& arguments) {
    const auto result = run(arguments);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result;
  };
  well({"convert", shapes, at("q8.gguf"), "--type", "q8_0"});
  well({"record", "--prompt", "a red circle", "--width", "32", "--height", "32", "--steps", "2",
        "--precision", "f32", "--output", at("samples.safetensors")});
  std::vector<std::string> cost{"cost",    "--samples", at("samples.safetensors"),
                                "--types", "q8_0",      "--layers",
                                "0,2",     "--policy",  "f32",
                                "--json",  "--output",  at("cost.json")};
  const std::size_t output = cost.size() - 1;
  cost.insert(cost.end(), {"--patch", at("q8.gguf")});
  const auto json = well(cost).json();
  REQUIRE(json["layers"].size() == 2);
  for (const auto& layer : json["layers"]) {
    CHECK(layer["types"]["q8_0"]["cost"] > 0);
    CHECK(layer["types"]["q8_0*"] == layer["types"]["q8_0"]);
  }

  // Another file, and another transformer, are other measurements.
  fs::rename(at("q8.gguf"), at("other.gguf"));
  const auto refused = [&](int code, const std::string& said) {
    const auto result = run(cost);
    INFO(result.err);
    CHECK(result.code == code);
    CHECK(result.one_line_error());
    CHECK_THAT(result.err, Catch::Contains(said));
  };
  refused(1, "q8.gguf");
  cost.back() = at("other.gguf");
  refused(1, "patched from other.gguf");
  // Known by what it holds, whatever its name.
  fs::rename(at("other.gguf"), at("other.bin"));
  cost.back() = at("other.bin");
  refused(1, "patched from other.bin");
  fs::rename(at("other.bin"), at("other.gguf"));
  cost.back() = at("other.gguf");
  cost[cost.size() - 2] = "--transformer";
  refused(1, "transformer from other.gguf");
  cost[cost.size() - 2] = "--patch";
  cost[output] = at("none.json");
  cost.back() = shapes + "/transformer/diffusion_pytorch_model.safetensors";
  refused(2, "must be a GGUF file");
  CHECK_FALSE(fs::exists(at("none.json")));
}

TEST_CASE("plan --verify says where its samples or policy are not those of the costs", "[casting]") {
  const Scratch scratch;
  const std::string samples = small_samples(scratch), costs = (scratch.path() / "cost.json").string();
  REQUIRE(run(cost(samples, costs, {"--types", "q8_0,q4_0"})).code == 0);
  const auto verified = [&](const std::string& policy, const std::string& file) {
    const auto outcome = run({"plan", "--model", small_flux, "--cost", file, "--bits", "32", "--verify",
                              "--samples", samples, "--policy", policy, "--json"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.err;
  };
  CHECK(verified("f32", costs).find("warning") == std::string::npos);
  CHECK_THAT(verified("balanced", costs),
             Catch::Contains("warning: ") && Catch::Contains("cost.json was measured under"));
  nlohmann::json other = nlohmann::json::parse(program::content(costs));
  other["settings"]["samples"] = "0123456789abcdef";
  CHECK_THAT(verified("f32", scratch.file("other.json", other.dump())),
             Catch::Contains("samples 0123456789abcdef"));
  other.erase("settings");  // which other programs do not write
  CHECK(verified("f32", scratch.file("other.json", other.dump())).find("warning") == std::string::npos);
}

TEST_CASE("cost: a model without blocks has nothing to measure", "[casting]") {
  const Scratch scratch;
  const fs::path model = scratch.path() / "model",
                 file = model / "transformer" / "diffusion_pytorch_model.safetensors";
  fs::copy(small_flux, model, fs::copy_options::recursive);
  auto config = nlohmann::json::parse(program::content(model / "transformer" / "config.json"));
  config["num_layers"] = config["num_single_layers"] = 0;
  scratch.file("model/transformer/config.json", config.dump());
  {
    const precast::io::SafetensorsFile all(fs::path(small_flux) / "transformer" / file.filename());
    precast::io::SafetensorsWriter writer(file);
    std::vector<const precast::io::TensorEntry*> ends;
    for (const auto& tensor : all.tensors())
      if (tensor.name.find("transformer_blocks.") == std::string::npos) ends.push_back(&tensor);
    for (const auto* tensor : ends) writer.declare(tensor->name, tensor->dtype.info, tensor->shape);
    for (const auto* tensor : ends) writer.write(tensor->bytes);
    writer.commit();
  }
  const std::string output = (scratch.path() / "cost.json").string(),
                    importance = (scratch.path() / "importance.gguf").string();
  refused({"cost", "--model", model.string(), "--samples", small_samples(scratch), "--output", output}, 1,
          "has no blocks");
  REQUIRE(run({"record", "--model", small_flux, "--prompt", "a red circle", "--width", "32", "--height", "32",
               "--steps", "1", "--precision", "f32", "--importance", importance, "--output",
               (scratch.path() / "more.safetensors").string()})
              .code == 0);
  refused(
      {"cost", "--model", model.string(), "--importance", importance, "--estimates-only", "--output", output},
      1, "has no blocks");
}

TEST_CASE("samples say all that they depend on, as generate --json says it of pictures", "[casting]") {
  const Scratch scratch;
  const std::string samples = (scratch.path() / "samples.safetensors").string(),
                    picture = program::source + "/docs/images/compare.png",
                    refiner = program::source + "/tests/golden/stable_diffusion/refiner";
  const program::Words painted{"--image", picture, "--strength", "0.75", "--fit", "crop"};
  for (const program::Words& words :
       {program::with({"--model", small_flux, "--guidance", "2.5", "--cfg-scale", "1.5", "--negative", "a",
                       "--max-sequence-length", "8", "--t5-padding", "4", "--seed-step", "3", "--vae",
                       small_flux + "/vae"},
                      painted),
        program::with({"--model", refiner, "--sampler", "ddim", "--eta", "0.5", "--guidance-rescale", "0.25",
                       "--clip-skip", "1", "--aesthetic-score", "2", "--negative-aesthetic-score", "3",
                       "--mask", picture, "--vae-tiling"},
                      painted)}) {
    const auto of = [&](const program::Words& command) {
      const auto done = run(
          program::with(program::with(command, words), {"--prompt", "a", "--width", "64", "--height", "32",
                                                        "--steps", "2", "--precision", "f32", "--json"}));
      INFO(done.err);
      REQUIRE(done.code == 0);
      return done.json();
    };
    of({"record", "--output", samples});
    const nlohmann::json drawn = of({"generate", "--output", (scratch.path() / "a.png").string()});
    const auto facts = precast::io::SafetensorsFile(samples).metadata();
    for (const char* part : {"settings", "components"})
      for (const auto& [key, value] : drawn[part].items()) {
        INFO(key);
        CHECK(facts.contains(key) == !value.is_null());
        if (facts.contains(key))
          CHECK(facts.at(key) == (value.is_string() ? value.get<std::string>() : value.dump()));
      }
  }
}

TEST_CASE("what record and cost cannot do is one line", "[casting]") {
  const Scratch scratch;
  const std::string samples = small_samples(scratch), output = (scratch.path() / "cost.json").string();
  refused(cost(samples, output, {"--types", "q4_9"}), 2, "q4_0");
  refused(cost(samples, output, {"--types", "q8_0,,q4_0"}), 2, "--types");
  refused(cost(samples, output, {"--layers", "3"}), 2, "--layers");
  refused(cost(samples, output, {"--layers", "2-1"}), 2, "reversed");
  refused(cost(samples, output, {"--layers", "x"}), 2, "--layers");
  refused(cost(samples, output, {"--shard", "0/2"}), 2, "--shard");
  refused(cost(samples, output, {"--shard", "3/2"}), 2, "--shard");
  refused(cost(samples, output, {"--shard", "2"}), 2, "I/N");
  refused(cost(samples, output, {"--shard", "4/4"}), 2,
          "--shard 4/4 has none of the layers: give no more parts than there are, 3");
  refused(cost(samples, output, {"--granularity", "block"}), 2, "layer");
  refused(cost(samples, output, {"--measure", "costs"}), 2, "cost");
  refused(cost(samples, "-", {}), 2, "--output");
  refused({"cost"}, 2, "--samples");
  refused(cost(small_flux + "/transformer/diffusion_pytorch_model.safetensors", output, {}), 1,
          "not a sample file");
  const auto of_another = [&](const std::string& model) {
    return samples + ": was recorded from the model '" + fs::path(small_flux).filename().string() +
           "', and does not fit '" + model + "'";
  };
  refused({"cost", "--samples", samples, "--output", output, "--types", "q8_0"}, 1, of_another("shapes"));
  refused({"cost", "--merge", (scratch.path() / "none.json").string(), "--output", output}, 1, "none.json");
  refused({"cost", "--merge", output, "--types", "q8_0"}, 2, "--types is for measuring");
  refused({"record", "--model", small_flux, "--prompt", "a", "--every", "0"}, 2, "--every");
  const std::string unet = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/stable_diffusion/sd15";
  refused({"cost", "--model", unet, "--samples", samples, "--output", output, "--types", "q8_0"}, 1,
          of_another("sd15"));
  const std::string costs = scratch.file(
      "costs.json", R"({"layers": [{"name": "a", "parameters": 32, "types": {"q8_0": {"cost": 1}}}]})");
  refused({"cost", "--merge", costs, "--json", "--weighted"}, 2, "--weighted excludes --json");
  refused({"record", "--model", small_flux, "--prompt", "a", "--output", "-"}, 2, "--output");
  refused({"record", "--model", small_flux, "--prompt", "a", "--output", scratch.path() / "s.gguf"}, 2,
          "samples are a safetensors file");
  refused(cost(samples, output, {"--measure", "estimate"}), 2, "--importance");
  CHECK_FALSE(std::filesystem::exists(output));
}

TEST_CASE("record and generate do not write over the prompts and the picture that they read", "[casting]") {
  const Scratch scratch;
  const std::string prompts = scratch.file("prompts.txt", "a red circle\n"),
                    png = program::content(std::string(PRECAST_SOURCE_DIR) + "/docs/images/compare.png"),
                    picture = scratch.file("picture.png", png);
  const auto refused_record = [&](const std::vector<std::string>& more) {
    refused(program::with({"record", "--model", small_flux}, more), 2, "is read by this command");
  };
  refused_record({"--prompts-file", prompts, "--output", prompts});
  refused_record({"--prompt", "a", "--image", picture, "--output", picture});
  refused({"generate", "--prompts-file", prompts, "--output", picture, "--trace", prompts}, 2,
          "is read by this command");
  CHECK(program::content(prompts) == "a red circle\n");
  CHECK(program::content(picture) == png);
}

TEST_CASE("a Stable Diffusion model is recorded, cast layer by layer, planned and drawn by its plan",
          "[casting]") {
  const Scratch scratch;
  const auto file = [&](const char* name) { return (scratch.path() / name).string(); };
  const std::string samples = file("samples.safetensors"), costs = file("cost.json"),
                    plan = file("plan.json");
  const auto json_of = [](const std::vector<std::string>& command) {
    const auto done = run(command);
    INFO(done.err);
    REQUIRE(done.code == 0);
    return done.json();
  };
  const auto recorded = json_of({"record", "--model", "shapes-sd", "--prompt", "a red ring", "--steps", "4",
                                 "--every", "2", "--precision", "f32", "--output", samples, "--json"});
  CHECK(recorded["samples"] == 2);
  CHECK(recorded["tokens"] == 512);  // 16 x 16, of two predictions
  const auto measured = json_of({"cost", "--model", "shapes-sd", "--samples", samples, "--output", costs,
                                 "--types", "q8_0,q4_0,f16", "--policy", "f32", "--json"});
  CHECK(measured["model"] == "shapes-sd");
  CHECK(measured["layers"][0]["name"] == "down_blocks.0.resnets.0");
  const auto planned = json_of({"plan", "--model", "shapes-sd", "--cost", costs, "--bits", "13.5", "--output",
                                plan, "--verify", "--samples", samples, "--policy", "f32", "--json"});
  CHECK(planned["bits"] <= 13.5);
  CHECK(planned["verified"]["bits"] == planned["bits"]);
  CHECK(planned["verified"]["error"].get<double>() == Approx(planned["error"].get<double>()).epsilon(0.5));

  // As the file has it that convert writes by the plan.
  const std::string gguf = file("planned.gguf");
  REQUIRE(run({"convert", std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model_sd", gguf,
               "--plan", plan})
              .code == 0);
  const auto latents = [&](const std::string& option, const std::string& value) {
    const std::string saved = file("latents.safetensors");
    const auto made = run({"generate", "--model", "shapes-sd", option, value, "-p", "a red ring", "--steps",
                           "2", "--precision", "f32", "--save-latents", saved, "--output", file("l.png")});
    INFO(made.err);
    REQUIRE(made.code == 0);
    return program::content(saved);
  };
  const std::string uncast = latents("--seed", "0"), in_blocks = latents("--plan", plan);
  CHECK(in_blocks == latents("--transformer", gguf));
  CHECK(in_blocks != uncast);

  // Scalars reach convolutions, and hold the same values wherever they were rounded.
  json_of({"cost", "--model", "shapes-sd", "--samples", samples, "--output", costs, "--types",
           "fp8_e4m3,fp8_e5m2,f16", "--policy", "f32", "--json"});
  const auto mixed = json_of({"plan", "--cost", costs, "--types", "fp8_e4m3,fp8_e5m2,f16", "--bits", "11",
                              "--output", plan, "--json"});
  std::set<std::string> types;
  for (const auto& [layer, type] : mixed["types"].items()) types.insert(type.get<std::string>());
  CHECK(types.size() > 1);
  const std::string scalars = file("scalars.safetensors");
  const auto converted = json_of({"convert", "shapes-sd", scalars, "--plan", plan, "--json"});
  CHECK(converted["warnings"].size() == 1);  // that the UNet alone is converted
  CHECK(converted["instead"].empty());
  const std::string of_plan = latents("--plan", plan);
  CHECK(of_plan == latents("--transformer", scalars));
  CHECK(of_plan != uncast);
}

TEST_CASE("a plan draws what the file draws that convert writes by it, bit for bit", "[casting]") {
  const Scratch scratch;
  const std::string plan = (scratch.path() / "plan.json").string(),
                    latents = (scratch.path() / "latents.safetensors").string(),
                    picture = (scratch.path() / "picture.png").string();
  const std::array<program::Words, 2> kinds{
      {{"planned.gguf", "q8_0", "q4_0", "q4_k", "nvfp4", "f16", "mxfp4"},
       {"planned.safetensors", "fp8_e4m3_row", "int8_row", "fp8_e5m2", "fp8_e4m3_tensor", "mxfp8",
        "mxfp6_e2m3"}}};
  for (const program::Words& kind : kinds) {
    nlohmann::json types;
    for (std::size_t i = 1; i < kind.size(); ++i)
      types[i <= 2 ? "transformer_blocks." + std::to_string(i - 1)
                   : "single_transformer_blocks." + std::to_string(i - 3)] = kind[i];
    scratch.file("plan.json", nlohmann::json{{"types", types}}.dump());
    const std::string converted = (scratch.path() / kind.front()).string();
    REQUIRE(run({"convert", program::shapes_model + "/transformer", converted, "--plan", plan}).code == 0);
    INFO(kind.front());
    const auto drawn = [&](const char* option, const std::string& file) {
      const auto made = run({"generate", option, file, "-p", "a red ring", "--steps", "2", "--precision",
                             "f32", "--save-latents", latents, "--output", picture});
      INFO(made.err);
      REQUIRE(made.code == 0);
      return program::content(latents);
    };
    CHECK(drawn("--plan", plan) == drawn("--transformer", converted));
  }
}

TEST_CASE("a plan is of the base, and a refiner is loaded as stored", "[casting]") {
  const Scratch scratch;
  const std::string latents = (scratch.path() / "latents.safetensors").string(),
                    picture = (scratch.path() / "picture.png").string(),
                    converted = (scratch.path() / "planned.safetensors").string();
  const std::string models = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/stable_diffusion/";
  // Both UNets have the first layer, and the base alone the second.
  for (const char* layer : {"mid_block", "up_blocks.0.attentions.0"}) {
    INFO(layer);
    const std::string plan =
        scratch.file("plan.json", nlohmann::json{{"types", {{layer, "fp8_e4m3"}}}}.dump());
    const auto converting = run({"convert", models + "sdxl/unet", converted, "--plan", plan});
    INFO(converting.err);
    REQUIRE(converting.code == 0);
    const auto drawn = [&](const char* option, const std::string& file) {
      const auto made = run({"generate", "--model", models + "sdxl", "--refiner", models + "refiner",
                             "--refiner-start", "0.5", option, file, "-p", "a", "--steps", "4", "--precision",
                             "f32", "--save-latents", latents, "--output", picture});
      INFO(made.err);
      REQUIRE(made.code == 0);
      return program::content(latents);
    };
    CHECK(drawn("--plan", plan) == drawn("--transformer", converted));
  }
}

TEST_CASE("cost does not take what it reads for results that it goes on from", "[casting]") {
  const Scratch scratch;
  const std::string samples = small_samples(scratch), before = program::content(samples);
  refused(cost(samples, samples, {"--types", "fp8_e4m3"}), 2, "is read by this command");
  CHECK(program::content(samples) == before);
  const std::string importance = scratch.file("importance.gguf", "importance");
  refused(cost(samples, importance, {"--types", "fp8_e4m3", "--importance", importance}), 2,
          "is read by this command");
  CHECK(program::content(importance) == "importance");
}

TEST_CASE("cost and plans take mxfp8 with padded columns as the matrices that the model has", "[casting]") {
  const Scratch scratch;
  const auto [padded, plain] = write_padded_mxfp8(scratch);
  const std::string samples = small_samples(scratch), types = "int8_row,fp8_e4m3",
                    plan = scratch.file("plan.json", R"({"types": {"transformer_blocks.0": "int8_row"}})");
  std::vector<nlohmann::json> layers;
  std::vector<std::string> pictures;
  for (const std::string& file : {padded, plain}) {
    const auto measured =
        run(cost(samples, file + ".json", {"--types", types, "--transformer", file, "--json"}));
    INFO(measured.err);
    REQUIRE(measured.code == 0);
    layers.push_back(measured.json()["layers"]);
    pictures.push_back(file + ".png");
    const auto drawn =
        run({"generate", "--model", small_flux, "--transformer", file, "--plan", plan, "-p", "a", "--width",
             "16", "--height", "16", "--steps", "1", "--output", pictures.back()});
    INFO(drawn.err);
    REQUIRE(drawn.code == 0);
  }
  REQUIRE(layers[0].size() == 3);
  for (std::size_t i = 0; i < layers[0].size(); ++i)
    for (const char* type : {"int8_row", "fp8_e4m3"}) {
      const auto& of_padded = layers[0][i]["types"][type];
      const auto& of_plain = layers[1][i]["types"][type];
      CHECK(of_padded["bits"] == of_plain["bits"]);
      CHECK(of_padded["cost"] > 0);
      // Products of blocks that are none of padding add in another order than those of values.
      CHECK(of_padded["cost"].get<double>() == Approx(of_plain["cost"].get<double>()).epsilon(0.01));
    }
  const auto of_padded = precast::image::read_image(pictures[0]).image,
             of_plain = precast::image::read_image(pictures[1]).image;
  CHECK(precast::image::difference(of_padded, of_plain).mse < 0.1);
}

TEST_CASE("cost does not go on with the numbers of other weights that have the same name", "[casting]") {
  const Scratch scratch;
  const std::string samples = small_samples(scratch), output = (scratch.path() / "cost.json").string(),
                    other = (scratch.path() / "other.gguf").string();
  const auto converted = [&](const std::string& type) {
    fs::remove(other);
    REQUIRE(run({"convert", small_flux + "/transformer", other, "--type", type}).code == 0);
  };
  converted("f16");
  const std::vector<std::string> first{"--types", "fp8_e4m3", "--transformer", other},
      more{"--types", "fp8_e4m3,fp8_e5m2", "--transformer", other};
  REQUIRE(run(cost(samples, output, first)).code == 0);
  const std::string before = program::content(output);
  converted("bf16");
  const auto mixed = run(cost(samples, output, more));
  INFO(mixed.err);
  CHECK(mixed.code == 1);
  CHECK(mixed.one_line_error());
  CHECK_THAT(mixed.err, Catch::Contains("cost.json: holds numbers of other weights than"));
  CHECK(program::content(output) == before);
  converted("f16");
  CHECK(run(cost(samples, output, more)).code == 0);

  nlohmann::json unsaid = nlohmann::json::parse(before);
  REQUIRE(unsaid["settings"].erase("weights") == 1);
  const std::string silent = scratch.file("silent.json", unsaid.dump());
  CHECK_THAT(run(cost(samples, silent, more)).err, Catch::Contains("or does not say of which"));
}

TEST_CASE("cost does not go on with the numbers of another transformer", "[casting]") {
  const Scratch scratch;
  const std::string samples = small_samples(scratch), output = (scratch.path() / "cost.json").string(),
                    other = (scratch.path() / "other.safetensors").string();
  REQUIRE(run(cost(samples, output, {"--types", "fp8_e4m3"})).code == 0);
  REQUIRE(run({"convert", small_flux + "/transformer", other, "--type", "bf16"}).code == 0);
  const std::string before = program::content(output);
  const auto mixed = run(cost(samples, output, {"--types", "bf16", "--transformer", other}));
  INFO(mixed.err);
  CHECK(mixed.code == 1);
  CHECK(mixed.one_line_error());
  CHECK_THAT(mixed.err, Catch::Contains("another measurement") &&
                            Catch::Contains("dev_f32, transformer from other.safetensors"));
  CHECK(program::content(output) == before);

  // A name that is no UTF-8 stands otherwise in the file, and is the same one.
  const std::string odd = (scratch.path() / "odd\xff.safetensors").string(),
                    numbers = (scratch.path() / "odd.json").string();
  fs::copy(other, odd);
  for (const char* types : {"fp8_e4m3", "fp8_e4m3,bf16"}) {
    const auto measured = run(cost(samples, numbers, {"--types", types, "--transformer", odd}));
    INFO(measured.err);
    CHECK(measured.code == 0);
  }

  // Samples would take the place of the weights.
  const std::string weights = program::content(other);
  const auto over = run({"record", "--model", small_flux, "--prompt", "a", "--transformer", other, "--output",
                         (scratch.path() / "." / "other.safetensors").string()});
  INFO(over.err);
  CHECK(over.code == 2);
  CHECK(over.one_line_error());
  CHECK_THAT(over.err, Catch::Contains("is read by this command"));
  CHECK(program::content(other) == weights);
}

TEST_CASE("cost --merge replaces no file under a name that nobody gave", "[casting]") {
  const Scratch scratch;
  const std::string here = "cd " + program::quoted(scratch.path().string()) + " &&";
  const auto costs = [](const std::string& layer) {
    return R"({"layers": [{"name": ")" + layer + R"(", "types": {"q8_0": {"bits": 8.5, "cost": 1}}}]})";
  };
  const std::string old = scratch.file("cost.json", costs("old"));
  const std::string kept = program::content(old);
  scratch.file("a.json", costs("a"));
  scratch.file("b.json", costs("b"));
  const auto shown = run({"cost", "--merge", "a.json"}, here);
  INFO(shown.err);
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, Catch::Contains("q8_0"));
  CHECK(shown.err.empty());
  CHECK(program::content(old) == kept);

  const auto refused = run({"cost", "--merge", "a.json", "b.json"}, here);
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains("cost.json already exists"));
  CHECK(program::content(old) == kept);

  REQUIRE(run({"cost", "--merge", "a.json", "cost.json"}, here).code == 0);
  CHECK(program::content(old) != kept);
  REQUIRE(run({"cost", "--output", "c.json", "--merge", "a.json"}, here).code == 0);
  CHECK(std::filesystem::exists(scratch.path() / "c.json"));
}
