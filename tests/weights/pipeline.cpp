// Models in files draw what the model's folder draws.
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <families/registry.hpp>
#include <flux/model_folder.hpp>
#include <flux/pipeline.hpp>
#include <io/input_errors.hpp>
#include <support/arrays.hpp>
#include <support/damaged_folder.hpp>
#include <support/drawn_latents.hpp>
#include <support/golden_requests.hpp>
#include <support/temporary_folder.hpp>
#include <text/t5_vocabulary.hpp>
#include <weights/files.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

std::vector<f32> latents(const families::ModelFiles& files) {
  return drawn_latents(files, compiled_choices().front());
}

std::string refused(const families::ModelFiles& files, const std::filesystem::path& file) {
  return refusal(file, [&] {
    families::open(files, families::ComponentChoices::all(compiled_choices().front()),
                   families::cpu_backend());
  });
}

}  // namespace

TEST_CASE("files: a model in files has the same latents as its folder, bit for bit") {
  const TemporaryFolder folder;
  const auto transformer = folder.path() / "flux.safetensors", all = folder.path() / "all.safetensors",
             vae = folder.path() / "ae.safetensors";
  write_tensors(transformer, bfl_transformer());
  write_tensors(vae, original_vae());
  FileTensors everything = with_prefix("model.diffusion_model.", bfl_transformer());
  everything.merge(with_prefix("text_encoders.clip_l.transformer.", tensors_of("text_encoder")));
  everything.merge(with_prefix("text_encoders.t5xxl.transformer.", tensors_of("text_encoder_2")));
  everything.merge(with_prefix("vae.", original_vae()));
  write_tensors(all, everything);

  const std::vector<f32> expected = latents(shapes_model());
  CHECK(latents({shapes_model(), {{"transformer", transformer}}}) == expected);
  CHECK(latents({shapes_model(), {{"transformer", transformer}, {"vae", vae}}}) == expected);
  CHECK(latents({shapes_model(),
                 {{"transformer", all}, {"text_encoder", all}, {"text_encoder_2", all}, {"vae", all}}}) ==
        expected);
  CHECK(latents({shapes_model(), {{"transformer", shapes_model() / "transformer"}}}) == expected);

  // A file in a model's folder, as BFL's repositories have it, without the weights that it replaces.
  const auto model = folder.path() / "model";
  std::filesystem::copy(shapes_model(), model, std::filesystem::copy_options::recursive);
  std::filesystem::remove(model / "transformer/diffusion_pytorch_model.safetensors");
  std::filesystem::copy(transformer, model / "flux.safetensors");
  CHECK(latents(model / "flux.safetensors") == expected);

  // GGUF with f32 values is lossless too.
  write_gguf(folder.path() / "flux.gguf", bfl_transformer(), "f32", "flux");
  CHECK(latents({shapes_model(), {{"transformer", folder.path() / "flux.gguf"}}}) == expected);
}

TEST_CASE("files: T5's tokenizer is read in its GGUF file where there is no tokenizer_2/") {
  const TemporaryFolder folder;
  const auto transformer = folder.path() / "flux.safetensors", t5 = folder.path() / "t5.gguf",
             plain = folder.path() / "plain.gguf", model = folder.path() / "model";
  write_tensors(transformer, bfl_transformer());
  write_gguf(plain, gguf_t5(), "f32", "t5encoder");
  const auto vocabulary =
      text::T5Vocabulary::of_spiece(shapes_model() / "tokenizer_2/spiece.model", /*extra_ids=*/0);
  write_gguf(t5, gguf_t5(), "f32", "t5encoder", [&](io::GgufWriter& writer) {
    std::vector<std::string> texts;
    std::vector<f32> scores;
    std::vector<std::int32_t> types;
    for (const text::ScoredPiece& piece : vocabulary.pieces) {
      texts.push_back(piece.text);
      scores.push_back(static_cast<f32>(piece.score));
      types.push_back(texts.size() > 3 ? 1 : texts.size() == 3 ? 2 : 3);  // <pad>, </s>; <unk>; words
    }
    writer.set("t5encoder.context_length", std::uint32_t{32});
    writer.set("tokenizer.ggml.model", "t5");
    writer.set("tokenizer.ggml.tokens", std::span<const std::string>(texts));
    writer.set("tokenizer.ggml.scores", std::span<const f32>(scores));
    writer.set("tokenizer.ggml.token_type", std::span<const std::int32_t>(types));
    writer.set("tokenizer.ggml.precompiled_charsmap",
               std::span(reinterpret_cast<const std::uint8_t*>(vocabulary.charsmap.data()),
                         vocabulary.charsmap.size()));
  });
  std::filesystem::copy(shapes_model(), model, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(model / "tokenizer_2");
  const std::vector<f32> expected = latents(shapes_model());
  CHECK(latents({model, {{"text_encoder_2", t5}}}) == expected);
  // A pipeline that was saved without them.
  auto index = nlohmann::json::parse(read_text(model / "model_index.json"));
  index["text_encoder_2"] = index["tokenizer_2"] = {nullptr, nullptr};
  write_text(model / "model_index.json", index.dump());
  CHECK(latents({model, {{"text_encoder_2", t5}}}) == expected);
  CHECK(says(refused({model, {{"text_encoder_2", plain}}}, model / "model_index.json"),
             "key 'tokenizer_2': is null, for the model was saved without it"));

  // A folder that is no model's, and a model in a file beside CLIP's tokenizer.
  std::filesystem::remove(model / "model_index.json");
  const auto given = [&](const std::filesystem::path& with) {
    return std::map<std::string, std::filesystem::path, std::less<>>{
        {"transformer", transformer},
        {"text_encoder", shapes_model() / "text_encoder"},
        {"text_encoder_2", with},
        {"vae", shapes_model() / "vae"}};
  };
  CHECK(latents({model, given(t5)}) == expected);
  CHECK(says(refused({model, given(plain)}, model), "holds no tokenizer/ and tokenizer_2/"));
  std::filesystem::copy(transformer, model / "flux.safetensors");
  CHECK(latents({model / "flux.safetensors", {{"text_encoder_2", t5}}}) == expected);
}

TEST_CASE("files: T5's table of embeddings may be there twice, and not as two tables") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "t5.safetensors";
  FileTensors t5 = tensors_of("text_encoder_2");
  t5["encoder.embed_tokens.weight"] = t5.at("shared.weight");
  write_tensors(file, t5);
  const families::ModelFiles files{shapes_model(), {{"text_encoder_2", file}}};
  CHECK(latents(files) == latents(shapes_model()));
  t5["encoder.embed_tokens.weight"].bytes.back() ^= 1;
  write_tensors(file, t5);
  CHECK(refusal(file, [&] { latents(files); }) ==
        file.string() +
            ": tensors 'shared.weight' and 'encoder.embed_tokens.weight' differ, and are one table of T5: "
            "get the file again, or leave out the one that is wrong");
}

TEST_CASE("files: a GGUF file draws what the values of its blocks draw") {
  const TemporaryFolder folder;
  write_gguf(folder.path() / "a.gguf", bfl_transformer(), "q8_0", "flux");
  FileTensors decoded;
  for (const auto& [name, tensor] : bfl_transformer()) {
    std::vector<f32> values = values_in(tensor);
    if (tensor.shape.rank() == 2 && tensor.shape.back() % 32 == 0) {
      std::vector<std::byte> bytes(values.size() / 32 * 34);
      quant::encode("q8_0", values, bytes);
      quant::decode("q8_0", bytes, values);
    }
    decoded[name] = file_tensor("F32", tensor.shape, values);
  }
  write_tensors(folder.path() / "a.safetensors", decoded);
  // Blocks stay packed, and their products may add in another order.
  CHECK(relative_error(latents({shapes_model(), {{"transformer", folder.path() / "a.gguf"}}}),
                       latents({shapes_model(), {{"transformer", folder.path() / "a.safetensors"}}})) <=
        largest_error);
}

TEST_CASE("files: an fp8 file with scales draws what its values times the scales draw") {
  const TemporaryFolder folder;
  FileTensors scaled, decoded;
  for (const auto& [name, tensor] : bfl_transformer()) {
    if (tensor.shape.rank() != 2) {
      scaled[name] = decoded[name] = tensor;
      continue;
    }
    std::vector<f32> values = values_in(tensor);
    std::vector<fp8_e4m3> narrow;
    for (f32& value : values) {
      narrow.push_back(convert<fp8_e4m3>(value * 100));
      value = convert<f32>(narrow.back()) * 0.01f;
    }
    scaled[name] = file_tensor("F8_E4M3", tensor.shape, narrow);
    scaled[name.substr(0, name.size() - 6) + "scale_weight"] =
        file_tensor("F32", {1}, std::vector<f32>{0.01f});
    decoded[name] = file_tensor("F32", tensor.shape, values);
  }
  scaled["scaled_fp8"] = file_tensor("F8_E4M3", {0}, std::vector<std::uint8_t>{});
  write_tensors(folder.path() / "a.safetensors", scaled);
  write_tensors(folder.path() / "b.safetensors", decoded);
  CHECK(relative_error(latents({shapes_model(), {{"transformer", folder.path() / "a.safetensors"}}}),
                       latents({shapes_model(), {{"transformer", folder.path() / "b.safetensors"}}})) <=
        largest_error);  // codes stay packed, as blocks of GGUF do
}

TEST_CASE("files: what is lacking, unread or of another model is said in one line") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  FileTensors tensors = bfl_transformer();
  tensors["control.weight"] = tensors.at("img_in.bias");
  write_tensors(file, tensors);
  const auto pipeline =
      families::open({shapes_model(), {{"transformer", file}}},
                     families::ComponentChoices::all(compiled_choices().front()), families::cpu_backend());
  REQUIRE(pipeline->notes().size() == 1);
  CHECK(pipeline->notes()[0] == file.string() + ": 1 tensor is not read: 'control.weight'");

  CHECK(
      says(refused(file, file), "holds no tokenizers, and there are none beside it: give --model a folder"));
  CHECK(says(refused({shapes_model(), {{"vae", file}}}, file),
             "does not hold the VAE of a Flux model but the transformer"));
  const auto empty = folder.path() / "empty";
  std::filesystem::create_directories(empty);
  CHECK(says(refused({empty, {{"transformer", file}}}, empty),
             "the first text encoder (CLIP) is not given either: give it with --text-encoder"));
  std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("double_blocks.1."); });
  write_tensors(file, tensors);
  CHECK(says(refused({shapes_model(), {{"transformer", file}}}, file),
             "has a number of double blocks of 1 where"));
  tensors = bfl_transformer();
  std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("guidance_in."); });
  write_tensors(file, tensors);
  CHECK(says(refused({shapes_model(), {{"transformer", file}}}, file), "has guidance (1: yes"));
  write_tensors(file, original_vae());
  CHECK(says(refused(file, file), "holds the VAE and no transformer: give it to --vae"));
  write_tensors(file, {{"some.thing", tensors.begin()->second}});
  CHECK(says(
      refused(file, file),
      "holds no model that is supported: give a model of Flux.1 dev or schnell, or of Stable Diffusion"));
}

TEST_CASE("files: a config beside a given file that says otherwise than the config that is used is named") {
  const DamagedFolder other(shapes_model());
  const families::ModelFiles files(shapes_model(),
                                   {{"vae", other.path() / "vae/diffusion_pytorch_model.safetensors"},
                                    {"text_encoder_2", other.path() / "text_encoder_2/model.safetensors"},
                                    {"transformer", other.path() / "transformer"}});
  CHECK(flux::ModelFolder::open(files).notes.empty());
  other.set("vae/config.json", "scaling_factor", 0.25);
  const std::vector<std::string> notes = flux::ModelFolder::open(files).notes;
  REQUIRE(notes.size() == 1);
  CHECK(says(notes[0], (other.path() / "vae/config.json").string() + " is not read, as a file was given"));
}
