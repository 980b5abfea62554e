// GGUF files of Stable Diffusion, as stable-diffusion.cpp and ComfyUI's tools write them, against safetensors
// of the values that they hold.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <convert/value_type.hpp>
#include <families/registry.hpp>
#include <formats/encode_in_range.hpp>
#include <formats/registry.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/weight_file.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>

using namespace precast;
using namespace precast::testing;
namespace fs = std::filesystem;
using stable_diffusion::ComponentWeights;

namespace {

/// The floating-point tensors of a single file; text encoders' position_ids are left out, as both programs
/// do.
FileTensors tensors_of_file(const fs::path& path) {
  FileTensors tensors;
  const io::ComponentSource source(path);
  for (const io::TensorEntry* entry : source.tensors())
    if (const std::string type(entry->dtype.file_name); type == "F32" || type == "F16" || type == "BF16")
      tensors[entry->name] = {
          type, entry->shape, {reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size()}};
  return tensors;
}

/// The UNet alone, without a prefix.
FileTensors unet_of(const FileTensors& whole) {
  const std::string prefix = "model.diffusion_model.";
  FileTensors unet;
  for (const auto& [name, tensor] : whole)
    if (name.starts_with(prefix)) unet[name.substr(prefix.size())] = tensor;
  return unet;
}

/// How a program stores a tensor.
struct Stored {
  DtypeInfo type;
  Shape shape;
  bool in_rows_of_256 = false;  ///< as ComfyUI's tools store convolutions, with the shape beside them
};

Stored stored_as(const FileTensor& tensor, const std::string& format, bool comfyui) {
  const DtypeInfo info = io::gguf_type(format)->info;
  const std::int64_t values = tensor.shape.elements();
  Stored stored{dtype_info<f16>, tensor.shape};
  if (comfyui && tensor.shape.rank() > 1 && values >= 512 && values % 256 == 0 &&
      tensor.shape.back() % 256 != 0) {
    stored.shape = Shape{values / 256, 256};
    stored.in_rows_of_256 = true;
  }
  if (tensor.shape.rank() == 1)
    stored.type = dtype_info<f32>;
  else if (stored.shape.rank() == 2 && stored.shape.back() % info.values_per_block == 0)
    stored.type = info;
  return stored;
}

/// Writes the tensors as GGUF and returns the values that it holds. stable-diffusion.cpp writes no keys,
/// ComfyUI's tools an architecture.
FileTensors write_program_gguf(const fs::path& path, const FileTensors& tensors, const std::string& format,
                               const std::string& architecture) {
  const bool comfyui = !architecture.empty();
  io::GgufWriter writer(path);
  if (comfyui) {
    writer.set("general.architecture", architecture);
    writer.set("general.quantization_version", std::uint32_t{2});
  }
  for (const auto& [name, tensor] : tensors)
    if (stored_as(tensor, format, comfyui).in_rows_of_256) {
      std::vector<std::int32_t> sizes(tensor.shape.sizes().begin(), tensor.shape.sizes().end());
      writer.set("comfy.gguf.orig_shape." + name, std::span<const std::int32_t>(sizes));
    }
  for (const auto& [name, tensor] : tensors) {
    const Stored stored = stored_as(tensor, format, comfyui);
    writer.declare(name, stored.type, stored.shape);
  }
  FileTensors decoded;
  for (const auto& [name, tensor] : tensors) {
    const Stored stored = stored_as(tensor, format, comfyui);
    std::vector<f32> values = values_in(tensor);
    std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(stored.type.values_per_block) *
                                 static_cast<std::size_t>(stored.type.bytes_per_block));
    REQUIRE(formats::encode_in_range(*formats::format_named(stored.type.name), values, bytes, {}));
    conversion::decode(stored.type, bytes, values);
    writer.write(bytes);
    decoded[name] = file_tensor("F32", tensor.shape, values);
  }
  writer.commit();
  return decoded;
}

/// A whole model's tensors as stable-diffusion.cpp named and shaped them until it kept the names of its input
/// (2025): text encoders as transformers has them, queries, keys and values apart, and 1 x 1 convolutions.
FileTensors renamed_by_program(const FileTensors& whole) {
  const std::vector<std::pair<std::string, std::string>> parts{
      {"conditioner.embedders.0.", "cond_stage_model."},
      {"conditioner.embedders.1.", "cond_stage_model.1."},
      {"model.token_embedding.weight", "transformer.text_model.embeddings.token_embedding.weight"},
      {"model.positional_embedding", "transformer.text_model.embeddings.position_embedding.weight"},
      {"model.ln_final.", "transformer.text_model.final_layer_norm."},
      {"model.text_projection", "transformer.text_model.text_projection"},
      {"model.transformer.resblocks.", "transformer.text_model.encoder.layers."},
      {".attn.out_proj.", ".self_attn.out_proj."},
      {".ln_1.", ".layer_norm1."},
      {".ln_2.", ".layer_norm2."},
      {".mlp.c_fc.", ".mlp.fc1."},
      {".mlp.c_proj.", ".mlp.fc2."}};
  FileTensors all;
  for (const auto& [stored, tensor] : whole) {
    const Shape& shape = tensor.shape;
    const bool of_text = stored.starts_with("cond");
    const bool convolved = stored.ends_with("proj_in.weight") || stored.ends_with("proj_out.weight") ||
                           stored.find("attn_1") != std::string::npos;
    if (!of_text) {
      all[stored] = tensor;
      if (convolved && shape.rank() == 2) all[stored].shape = Shape{shape[0], shape[1], 1, 1};
      continue;
    }
    if (stored.ends_with("logit_scale") || stored == "cond_stage_model.model.text_projection") continue;
    std::string name = stored;
    for (const auto& [from, to] : parts)
      if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    const std::size_t at = name.find(".attn.in_proj_");
    if (at == std::string::npos) {
      all[name] = tensor;
      continue;
    }
    const std::vector<f32> values = values_in(tensor);
    const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
    for (std::ptrdiff_t i = 0; i < 3; ++i)
      all[name.substr(0, at) + ".self_attn." + "qkv"[i] + "_proj." + name.substr(at + 14)] =
          file_tensor("F32", shape.rank() == 2 ? Shape{shape[0] / 3, shape[1]} : Shape{shape[0] / 3},
                      std::vector<f32>(values.begin() + i * third, values.begin() + (i + 1) * third));
  }
  return all;
}

/// A model's folder without weights, for a file to lie in.
fs::path folder_without_weights(const fs::path& place, const std::string& name) {
  const fs::path folder = place / name;
  fs::copy(stable_diffusion_model(name), folder, fs::copy_options::recursive);
  fs::remove(folder / "model_index.json");
  for (const char* weights :
       {"unet/diffusion_pytorch_model.safetensors", "vae/diffusion_pytorch_model.safetensors",
        "text_encoder/model.safetensors", "text_encoder_2/model.safetensors"})
    fs::remove(folder / weights);
  return folder;
}

families::Result drawn(const families::ModelFiles& files, const families::Request& request) {
  const auto choices = families::ComponentChoices::all(choices_in<f32>().front());
  return families::open(files, choices, families::cpu_backend())->generate(request);
}

/// Bytes that the UNet's weights are said to take.
std::int64_t bytes_of_unet(const families::Result& result) {
  for (const families::ComponentMemory& component : result.estimate.components)
    if (component.component == "unet") return component.weights;
  return 0;
}

const std::map<std::string, std::string> runs{{"sd15", "sd15_img2img_ddim"},
                                              {"sd21", "sd21_txt2img_own"},
                                              {"sdxl", "sdxl_txt2img_own"},
                                              {"refiner", "refiner_img2img_own"}};

}  // namespace

TEST_CASE("GGUF of whole Stable Diffusion models draws what its values draw in safetensors") {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  for (const auto& [name, run] : runs)
    for (const std::string format : {"f16", "q8_0", "q4_0"}) {
      INFO(run << " " << format);
      const TemporaryFolder place;
      const fs::path folder = folder_without_weights(place.path(), name);
      const FileTensors whole = tensors_of_file(stable_diffusion_file(name));
      write_tensors(folder / "decoded.safetensors", write_program_gguf(folder / "m.gguf", whole, format, ""));
      const families::Request request = request_of(golden, cases.at(run));
      const auto packed = drawn(folder / "m.gguf", request);
      const auto decoded = drawn(folder / "decoded.safetensors", request);
      // Blocks stay packed, and their products may add in another order.
      if (format == "f16") {
        CHECK(std::ranges::equal(packed.latents.values(), decoded.latents.values()));
        CHECK(packed.images.front().rgb == decoded.images.front().rgb);
      } else {
        CHECK(relative_error(packed.latents.values(), decoded.latents.values()) <= largest_error);
        CHECK(bytes_of_unet(packed) > 0);
        CHECK(bytes_of_unet(packed) < bytes_of_unet(decoded));
      }
    }
}

TEST_CASE("GGUF of a UNet alone, with convolutions in rows of 256, takes the place of a folder's UNet") {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  for (const auto& [name, architecture] :
       {std::pair<std::string, std::string>{"sd15", "sd1"}, {"sdxl", "sdxl"}})
    for (const std::string format : {"f16", "q8_0"}) {
      INFO(name << " " << format);
      const TemporaryFolder place;
      const FileTensors unet = unet_of(tensors_of_file(stable_diffusion_file(name)));
      REQUIRE(unet.size() > 20);
      const fs::path file = place.path() / "unet.gguf", plain = place.path() / "unet.safetensors";
      write_tensors(plain, write_program_gguf(file, unet, format, architecture));
      bool in_rows = false;
      for (const auto& [tensor, what] : unet)
        in_rows = in_rows || stored_as(what, format, true).in_rows_of_256;
      CHECK(in_rows);
      const families::Request request = request_of(golden, cases.at(runs.at(name)));
      const fs::path folder = stable_diffusion_model(name);
      const auto packed = drawn({folder, {{"transformer", file}}}, request);
      const auto decoded = drawn({folder, {{"transformer", plain}}}, request);
      if (format == "f16")
        CHECK(std::ranges::equal(packed.latents.values(), decoded.latents.values()));
      else
        CHECK(relative_error(packed.latents.values(), decoded.latents.values()) <= largest_error);
    }
}

TEST_CASE("GGUF whose text encoders stable-diffusion.cpp renamed draws what the same values draw") {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  for (const std::string name : {"sd15", "sd21", "sdxl"}) {
    INFO(name);
    const TemporaryFolder place;
    const fs::path folder = folder_without_weights(place.path(), name);
    const FileTensors decoded =
        write_program_gguf(folder / "original.gguf", tensors_of_file(stable_diffusion_file(name)), "f16", "");
    FileTensors renamed = renamed_by_program(decoded);
    // The layer that 2.x does not run: these models are too narrow to be known for 2.x without OpenCLIP's
    // names.
    if (name == "sd21")
      std::erase_if(renamed,
                    [](const auto& one) { return one.first.find("encoder.layers.3.") != std::string::npos; });
    CHECK(
        renamed.contains("cond_stage_model.transformer.text_model.encoder.layers.1.self_attn.q_proj.weight"));
    write_program_gguf(folder / "renamed.gguf", renamed, "f16", "");
    families::Request request = request_of(golden, cases.at(runs.at(name)));
    request.steps = 2;
    const auto one = drawn(folder / "renamed.gguf", request),
               other = drawn(folder / "original.gguf", request);
    CHECK(std::ranges::equal(one.latents.values(), other.latents.values()));
    CHECK(one.images.front().rgb == other.images.front().rgb);
  }
}

TEST_CASE("OpenCLIP's projection and biases of three are read out of blocks, as programs quantise them") {
  // stable-diffusion.cpp keeps what is named `bias` or `weight` of one row, and no other tensor.
  constexpr std::int64_t width = 32, projected = 64;
  const std::string prefix = "conditioner.embedders.0.model.",
                    bias = prefix + "transformer.resblocks.0.attn.in_proj_bias",
                    projection = prefix + "text_projection";
  const auto values_of = [](std::int64_t count) {
    std::vector<f32> values(static_cast<std::size_t>(count));
    // With 127 in each of them, blocks hold whole numbers as they are.
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 32 ? static_cast<f32>(i % 127) - 63 : 127;
    return values;
  };
  const std::map<std::string, Shape> shapes{{bias, Shape{3 * width}},
                                            {prefix + "ln_final.weight", Shape{width}},
                                            {projection, Shape{width, projected}},
                                            {"input_blocks.0.0.weight", Shape{1, 4}},
                                            {"time_embed.0.weight", Shape{1, 1}},
                                            {"label_emb.0.0.weight", Shape{1, 1}}};
  const TemporaryFolder place;
  const fs::path file = place.path() / "m.gguf";
  io::GgufWriter writer(file);
  const DtypeInfo blocks = io::gguf_type("q8_0")->info;
  const auto type_of = [&](const std::string& name) {
    return name == bias || name == projection ? blocks : dtype_info<f32>;
  };
  for (const auto& [name, shape] : shapes) writer.declare(name, type_of(name), shape);
  for (const auto& [name, shape] : shapes) {
    const DtypeInfo type = type_of(name);
    const std::vector<f32> values = values_of(shape.elements());
    std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(type.values_per_block) *
                                 static_cast<std::size_t>(type.bytes_per_block));
    REQUIRE(formats::encode_in_range(*formats::format_named(type.name), values, bytes, {}));
    writer.write(bytes);
  }
  writer.commit();

  const ComponentWeights weights(file, "text_encoder_2");
  const auto read = [&](const std::string& name) {
    const nn::Parameter found = weights.find(name);
    std::vector<f32> values(static_cast<std::size_t>(found.shape.elements()));
    conversion::decode(found.dtype, found.bytes, values);
    return values;
  };
  const std::vector<f32> three = values_of(3 * width), stored = values_of(width * projected);
  std::ptrdiff_t first = 0;
  for (const std::string part : {"q", "k", "v"}) {
    INFO(part);
    const std::vector<f32> third(three.begin() + first, three.begin() + first + width);
    CHECK(read("text_model.encoder.layers.0.self_attn." + part + "_proj.bias") == third);
    first += width;
  }
  REQUIRE(*weights.shape("text_projection.weight") == Shape{projected, width});
  CHECK(weights.find("text_projection.weight").shape == Shape{projected, width});
  const std::vector<f32> turned = read("text_projection.weight");
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < width; ++r)
    for (std::size_t c = 0; c < projected; ++c) wrong += turned[c * width + r] != stored[r * projected + c];
  CHECK(wrong == 0);
}
