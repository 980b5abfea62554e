// What inspect says of files: the model, its parts, whose names, each format with its bytes.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <cli/inspect/inspect_file.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>

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
