// What inspect says of files: the model, its parts, whose names, each format with its bytes.
#include <array>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/inspect/inspect_file.hpp>
#include <cli/inspect/inspect_model.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>

#include <precast/io/safetensors_writer.hpp>
#include <precast/io/write_gguf.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("inspect: a file's model, parts, names and formats") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a";
  const auto facts = [&] { return cli::facts_of(io::ComponentSource(file)); };
  write_gguf(file, with_prefix("model.diffusion_model.", bfl_transformer()), "q8_0", "flux");
  cli::FileFacts gguf = facts();
  CHECK(gguf.kind == "GGUF version 3, architecture flux");
  CHECK(gguf.model.starts_with("Flux.1 dev"));
  CHECK(gguf.problem.empty());
  REQUIRE(gguf.parts.size() == 1);
  CHECK(gguf.parts[0].part == "transformer");
  CHECK(gguf.parts[0].names == "original");
  CHECK(gguf.parts[0].prefix == "model.diffusion_model.");
  std::int64_t in_blocks = 0, values = 0, others = 0;
  for (const auto& [name, tensor] : bfl_transformer()) {
    const bool blocks = tensor.shape.rank() == 2 && tensor.shape.back() % 32 == 0;
    in_blocks += blocks;
    values += blocks ? tensor.shape.elements() : 0;
    others += !blocks;
  }
  CHECK(gguf.parts[0].formats.at("q8_0").tensors == in_blocks);
  CHECK(gguf.parts[0].formats.at("q8_0").parameters == values);
  CHECK(gguf.parts[0].formats.at("q8_0").bytes == values / 32 * 34);
  CHECK(gguf.parts[0].formats.at("f32").tensors == others);
  CHECK(cli::in_json(gguf)["parts"][0]["formats"]["q8_0"]["tensors"] == in_blocks);

  FileTensors scaled = bfl_transformer();
  std::erase_if(scaled, [](const auto& entry) { return entry.first.starts_with("guidance_in."); });
  const Shape shape = scaled.at("txt_in.weight").shape;
  scaled["txt_in.weight"] =
      file_tensor("F8_E4M3", shape, std::vector<std::uint8_t>(static_cast<std::size_t>(shape.elements())));
  scaled["txt_in.weight_scale"] = file_tensor("F32", {}, std::vector<f32>{1});
  write_tensors(file, scaled);
  const cli::FileFacts fp8 = facts();
  CHECK(fp8.kind == "safetensors");
  CHECK(fp8.model == "Flux.1 schnell");
  CHECK(fp8.parts[0].formats.at("fp8_e4m3 with a scale").tensors == 1);
  CHECK(fp8.parts[0].formats.at("fp8_e4m3 with a scale").bytes == shape.elements() + 4);

  scaled["distilled_guidance_layer.x"] = scaled.at("img_in.bias");
  write_tensors(file, scaled);
  CHECK(facts().model == "a Chroma model");
  CHECK(facts().problem == "is a Chroma model, which is not read");
  write_tensors(file, {{"some.thing", scaled.at("img_in.bias")}});
  CHECK(facts().parts.empty());
  CHECK(facts().problem.empty());
}

TEST_CASE("inspect: text encoders of Stable Diffusion in files of their own are named") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a";
  const auto part_of = [&](const std::string& name, std::int64_t width) {
    write_tensors(file,
                  {{name, file_tensor("F32", {width}, std::vector<f32>(static_cast<std::size_t>(width)))}});
    const cli::FileFacts facts = cli::facts_of(io::ComponentSource(file));
    CHECK(facts.problem.empty());
    REQUIRE(facts.parts.size() == 1);
    CHECK(facts.parts[0].formats.at("f32").parameters == width);
    return facts.parts[0].part + ", " + facts.parts[0].names + ", " + facts.parts[0].prefix;
  };
  CHECK(part_of("ln_final.weight", 1024) == "text_encoder, OpenCLIP, ");
  CHECK(part_of("ln_final.weight", 1280) == "text_encoder_2, OpenCLIP, ");
  CHECK(part_of("cond_stage_model.model.ln_final.weight", 1024) ==
        "text_encoder, OpenCLIP, cond_stage_model.model.");
  CHECK(part_of("cond_stage_model.transformer.text_model.final_layer_norm.weight", 768) ==
        "text_encoder, diffusers, cond_stage_model.transformer.");
  CHECK(part_of("clip_g.text_model.final_layer_norm.weight", 1280) == "text_encoder_2, diffusers, clip_g.");
  CHECK(part_of("clip_l.text_model.final_layer_norm.weight", 768) == "text_encoder, diffusers, clip_l.");
}

TEST_CASE("inspect: parameters are what weights hold, packed ones too, and no scales") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  const auto parameters = [&] { return cli::inspect(file).components.at(0).parameters; };
  constexpr std::int64_t rows = 16, columns = 64, scales = 128 * 4;  // a tile, with its padding
  const auto bytes = [](std::int64_t count) {
    return std::vector<std::uint8_t>(static_cast<std::size_t>(count));
  };
  FileTensors tensors{{"a.weight", file_tensor("U8", {rows, columns / 2}, bytes(rows * columns / 2))},
                      {"a.weight_scale", file_tensor("F8_E4M3", {128, 4}, bytes(scales))},
                      {"a.weight_scale_2", file_tensor("F32", {}, std::vector<f32>{1})},
                      {"a.comfy_quant", json_tensor(R"({"format": "nvfp4"})")},
                      {"a.bias", file_tensor("F32", {rows}, std::vector<f32>(rows))}};
  write_tensors(file, tensors);
  CHECK(parameters() == rows * columns + rows);
  tensors.erase("a.weight_scale");  // it is not read, and counts as it lies
  write_tensors(file, tensors);
  CHECK(parameters() == rows * columns / 2 + 1 + std::ssize(tensors.at("a.comfy_quant").bytes) + rows);
}

TEST_CASE("inspect: what stands beside the tensors of a file") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a";
  const auto facts = [&] { return cli::facts_of(io::ComponentSource(file)); };
  const std::vector<std::byte> four(4);
  {
    io::SafetensorsWriter writer(file);
    writer.set("modelspec.title", "a model\nof two lines");
    writer.declare("x", dtype_info<f32>, Shape{1});
    writer.write(four);
    writer.commit();
  }
  CHECK(facts().metadata == nlohmann::ordered_json{{"modelspec.title", "a model\nof two lines"}});
  CHECK_THAT(cli::in_text(facts()), Catch::Contains("metadata\n  modelspec.title: a model?of two lines\n"));
  {
    io::GgufWriter writer(file);
    writer.set("a.text", "flux");
    writer.set("b.most", ~std::uint64_t{0});
    writer.set("c.least", std::int8_t{-128});
    writer.set("d.real", 0.5f);
    writer.set("e.infinite", std::numeric_limits<double>::infinity());
    writer.set("f.yes", true);
    writer.set("g.shape", std::span<const std::int32_t>(std::array{3, -4}));
    writer.set("h.words", std::span<const std::string>(std::array<std::string, 2>{"<unk>", "a"}));
    writer.set("i.long", std::span<const float>(std::vector<float>(65)));
    writer.declare("x", dtype_info<f32>, Shape{1});
    writer.write(four);
    writer.commit();
  }
  const nlohmann::ordered_json expected{
      {"a.text", "flux"},   {"b.most", ~std::uint64_t{0}}, {"c.least", -128},
      {"d.real", 0.5},      {"e.infinite", "inf"},         {"f.yes", true},
      {"g.shape", {3, -4}}, {"h.words", {"<unk>", "a"}},   {"i.long", "an array of 65 f32"}};
  CHECK(facts().metadata == expected);
  CHECK(cli::in_json(facts())["metadata"] == expected);
  CHECK_THAT(cli::in_text(facts()), Catch::Contains("  g.shape: [3,-4]\n"));
}

TEST_CASE("inspect: a folder that cannot be loaded is shown, and why") {
  const TemporaryFolder place;
  const auto folder = place.path() / "model";
  std::filesystem::copy(std::string(PRECAST_SOURCE_DIR) + "/tests/golden/models/dev_f32", folder,
                        std::filesystem::copy_options::recursive);
  const auto loadable = cli::inspect(folder);
  CHECK(loadable.problem.empty());
  CHECK_FALSE(loadable.memory.empty());
  std::filesystem::remove(folder / "tokenizer" / "merges.txt");
  const auto inspection = cli::inspect(folder);
  CHECK_THAT(inspection.problem, Catch::Contains("merges.txt"));
  CHECK(inspection.memory.empty());
  CHECK(inspection.components.size() == loadable.components.size());
}
