// Both layouts of a Flux transformer, there and back, models in folders, and plans in diffusers' names.
#include <map>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <families/request_error.hpp>
#include <formats/registry.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <support/stable_diffusion.hpp>

#include <precast/io/safetensors.hpp>

#include "weights_files.hpp"

namespace converted_layouts {
namespace {

using namespace precast;
using namespace precast::conversion;
using namespace precast::testing;

Settings with_layout(Layout layout, const std::string& type = "") {
  Settings settings = to_type(type);
  settings.layout = layout;
  return settings;
}

}  // namespace

TEST_CASE("BFL's layout puts rows together, and comes back as it was") {
  const TemporaryFolder folder;
  const PlainTensors plain = small_flux();
  const auto source = folder.path() / "source.safetensors", bfl = folder.path() / "bfl.safetensors",
             back = folder.path() / "back.safetensors";
  write_tensors<io::SafetensorsWriter>(source, plain, "f32");
  convert_file(source, bfl, with_layout(Layout::bfl));
  const InputWeights made(bfl);
  const auto rows_of = [&](const std::string& ours, const std::string& theirs, std::size_t first_row) {
    const PlainTensor& tensor = plain.at(ours);
    const InputTensor* const found = made.lookup(theirs);
    REQUIRE(found);
    const std::vector<f32> values = decoded(*found);
    const std::size_t columns = tensor.values.size() / static_cast<std::size_t>(tensor.shape[0]);
    REQUIRE(values.size() >= first_row * columns + tensor.values.size());
    INFO(ours << " in " << theirs);
    CHECK(std::equal(tensor.values.begin(), tensor.values.end(),
                     values.begin() + static_cast<std::ptrdiff_t>(first_row * columns)));
  };
  for (const char* end : {".weight", ".bias"}) {
    const std::string e = end;
    rows_of("transformer_blocks.0.attn.to_q" + e, "double_blocks.0.img_attn.qkv" + e, 0);
    rows_of("transformer_blocks.0.attn.to_v" + e, "double_blocks.0.img_attn.qkv" + e, 128);
    rows_of("transformer_blocks.0.attn.add_k_proj" + e, "double_blocks.0.txt_attn.qkv" + e, 64);
    rows_of("single_transformer_blocks.0.proj_mlp" + e, "single_blocks.0.linear1" + e, 192);
    rows_of("single_transformer_blocks.0.proj_out" + e, "single_blocks.0.linear2" + e, 0);
    rows_of("x_embedder" + e, "img_in" + e, 0);
    // The one whose halves change places.
    const PlainTensor& ours = plain.at("norm_out.linear" + e);
    std::vector<f32> swapped = ours.values;
    std::rotate(swapped.begin(), swapped.begin() + static_cast<std::ptrdiff_t>(swapped.size() / 2),
                swapped.end());
    CHECK(decoded(*made.lookup("final_layer.adaLN_modulation.1" + e)) == swapped);
  }
  CHECK(made.lookup("single_blocks.0.linear1.weight")->shape == Shape{7 * 64, 64});
  convert_file(bfl, back, with_layout(Layout::diffusers));
  const InputWeights again(back);
  REQUIRE(again.tensors().size() == plain.size());
  for (const auto& [name, tensor] : plain) {
    INFO(name);
    REQUIRE(again.lookup(name));
    CHECK(again.lookup(name)->shape == tensor.shape);
    CHECK(decoded(*again.lookup(name)) == tensor.values);
  }
}

TEST_CASE("norms that end in .weight among BFL's names get diffusers' names, too") {
  const TemporaryFolder folder;
  const PlainTensors plain = small_flux();
  const auto source = folder.path() / "source.safetensors", bfl = folder.path() / "bfl.safetensors",
             renamed = folder.path() / "renamed.safetensors", back = folder.path() / "back.safetensors";
  write_tensors<io::SafetensorsWriter>(source, plain, "f32");
  convert_file(source, bfl, with_layout(Layout::bfl));
  PlainTensors with_weights;
  std::size_t norms = 0;
  for (const InputWeights made(bfl); const InputTensor& tensor : made.tensors()) {
    std::string name = tensor.name;
    if (name.ends_with("_norm.scale"))
      name.replace(name.rfind("scale"), std::string::npos, "weight"), ++norms;
    with_weights[name] = {tensor.shape, decoded(tensor)};
  }
  REQUIRE(norms == 6);
  write_tensors<io::SafetensorsWriter>(renamed, with_weights, "f32");
  convert_file(renamed, back, with_layout(Layout::diffusers));
  const InputWeights again(back);
  CHECK(again.tensors().size() == plain.size());
  for (const auto& [name, tensor] : plain) {
    INFO(name);
    REQUIRE(again.lookup(name));
    CHECK(decoded(*again.lookup(name)) == tensor.values);
  }
}

TEST_CASE("f16 and bf16 that are put together become f32, which holds the values of both") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", bfl = folder.path() / "bfl.safetensors";
  io::SafetensorsWriter writer(source);
  const PlainTensors plain = small_flux();
  const auto type_of = [](const std::string& name) { return name.ends_with("to_k.weight") ? "f16" : "bf16"; };
  for (const auto& [name, tensor] : plain)
    writer.declare(name, *formats::find_type(type_of(name)), tensor.shape);
  for (const auto& [name, tensor] : plain) writer.write(encoded(type_of(name), tensor.values));
  writer.commit();
  convert_file(source, bfl, with_layout(Layout::bfl));
  const InputWeights made(bfl);
  CHECK(made.lookup("double_blocks.0.txt_attn.qkv.weight")->type.name == "bf16");
  const InputTensor& qkv = *made.lookup("double_blocks.0.img_attn.qkv.weight");
  CHECK(qkv.type.name == "f32");
  std::vector<f32> expected;
  for (const char* part : {"to_q", "to_k", "to_v"}) {
    const std::string name = std::string("transformer_blocks.0.attn.") + part + ".weight";
    const std::vector<f32> values = stored_as(type_of(name), plain.at(name).values);
    expected.insert(expected.end(), values.begin(), values.end());
  }
  CHECK(decoded(qkv) == expected);
}

TEST_CASE("GGUF of a Flux transformer has the names and keys that other readers look for") {
  const TemporaryFolder folder;
  const PlainTensors plain = small_flux();
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.gguf",
             back = folder.path() / "back.safetensors";
  write_tensors<io::SafetensorsWriter>(source, plain, "bf16");
  convert_file(source, out, to_type("q8_0"));
  const io::GgufFile file(out);
  CHECK(file.value("general.architecture")->text() == "flux");
  CHECK(file.value("general.file_type")->integer() == 7);
  CHECK(file.value("general.quantization_version")->integer() == 2);
  const auto type_of = [&](const char* name) { return std::string(file.at(name).type.info.name); };
  CHECK(type_of("double_blocks.0.img_attn.qkv.weight") == "q8_0");
  CHECK(type_of("single_blocks.0.linear2.weight") == "q8_0");
  CHECK(type_of("img_in.weight") == "bf16");
  CHECK(type_of("final_layer.linear.weight") == "bf16");
  CHECK(type_of("double_blocks.0.img_attn.norm.query_norm.scale") == "f32");
  CHECK(type_of("double_blocks.0.img_attn.qkv.bias") == "f32");
  // Blocks are divided by rows without being decoded, and decode(encode(w)) is what comes back.
  convert_file(out, back, with_layout(Layout::diffusers, "f32"));
  const InputWeights again(back);
  for (const auto& [name, tensor] : plain) {
    INFO(name);
    const bool matrix = tensor.shape.rank() == 2 && name.find("transformer_blocks") != std::string::npos;
    const std::vector<f32> in_bf16 = stored_as("bf16", tensor.values);
    CHECK(decoded(*again.lookup(name)) == (matrix ? stored_as("q8_0", in_bf16) : in_bf16));
  }
  // A plan in diffusers' names finds the matrices that BFL's are made of.
  Settings planned = to_type("q4_0");
  planned.type_options.plan =
      casting::parse_plan(R"({"types": {"transformer_blocks.0": "q5_1"}})", "plan.json");
  const ModelConversion model(source, out, planned);
  CHECK(model.warnings().empty());
  model.write({});
  CHECK(io::GgufFile(out).at("double_blocks.0.img_attn.qkv.weight").type.info.name == "q5_1");
  CHECK(io::GgufFile(out).at("single_blocks.0.linear1.weight").type.info.name == "q4_0");
  // Where it has several for one of them, the file is larger than the plan.
  planned.type_options.plan = casting::parse_plan(
      R"({"types": {"transformer_blocks.0.attn.to_q": "q5_1", "transformer_blocks.0.attn.to_k": "q4_0"}})",
      "plan.json");
  const ModelConversion mixed(source, out, planned);
  REQUIRE(mixed.warnings().size() == 1);
  CHECK_THAT(mixed.warnings().front(), Catch::Contains("several types for the parts of 1 matrix, such as "
                                                       "'double_blocks.0.img_attn.qkv.weight'"));
  planned.layout = Layout::diffusers;
  CHECK(ModelConversion(source, out, planned).warnings().empty());
}

TEST_CASE("a plan in diffusers' names finds the matrices of a file in BFL's, also behind a prefix") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", bfl = folder.path() / "bfl.safetensors",
             out = folder.path() / "out.gguf";
  write_tensors<io::SafetensorsWriter>(source, small_flux(), "bf16");
  convert_file(source, bfl, with_layout(Layout::bfl));
  PlainTensors several{{"vae.decoder.conv_in.bias", normal_tensor({32}, 1)}};
  const InputWeights weights(bfl);
  for (const InputTensor& tensor : weights.tensors())
    several["model.diffusion_model." + tensor.name] = {tensor.shape, decoded(tensor)};
  const auto all = folder.path() / "all.safetensors";
  write_tensors<io::SafetensorsWriter>(all, several, "bf16");
  const auto found = [&](const std::filesystem::path& in, const char* plan, std::optional<Layout> layout,
                         const std::string& name) {
    Settings planned = to_type("q4_0");
    planned.layout = layout;
    planned.type_options.plan = casting::parse_plan(plan, "plan.json");
    const ModelConversion model(in, out, planned);
    INFO(name);
    for (const std::string& warning : model.warnings()) CHECK_THAT(warning, !Catch::Contains("plan"));
    model.write({});
    return std::string(io::GgufFile(out).at(name).type.info.name);
  };
  const char* const block = R"({"types": {"transformer_blocks.0": "q5_1"}})";
  const char* const matrix = R"({"types": {"transformer_blocks.0.attn.to_k": "q5_1"}})";
  const std::string prefix = "model.diffusion_model.", ours = "transformer_blocks.0.attn.to_q.weight",
                    qkv = "double_blocks.0.img_attn.qkv.weight";
  CHECK(found(bfl, block, std::nullopt, qkv) == "q5_1");
  CHECK(found(bfl, block, std::nullopt, "single_blocks.0.linear1.weight") == "q4_0");
  CHECK(found(bfl, block, Layout::diffusers, ours) == "q5_1");
  CHECK(found(bfl, matrix, std::nullopt, qkv) == "q5_1");
  CHECK(found(bfl, matrix, Layout::diffusers, ours) == "q4_0");
  CHECK(found(all, block, std::nullopt, prefix + qkv) == "q5_1");
  CHECK(found(all, matrix, Layout::diffusers, prefix + ours) == "q4_0");
  CHECK(found(all, matrix, Layout::diffusers, prefix + "transformer_blocks.0.attn.to_k.weight") == "q5_1");
}

TEST_CASE("a plan in diffusers' names finds each matrix and convolution of a UNet in its authors' names") {
  for (const char* name : {"sd15", "sd21", "sdxl", "refiner"}) {
    INFO(name);
    const TemporaryFolder folder;
    const auto out = folder.path() / "out.safetensors";
    const io::SafetensorsFile model(stable_diffusion_model(name) /
                                    "unet/diffusion_pytorch_model.safetensors");
    Settings planned;
    planned.type_options.plan.emplace();
    std::map<std::string, std::string> types;  // by the tensor's name
    for (const io::TensorEntry& tensor : model.tensors()) {
      if (tensor.shape.rank() < 2 || tensor.name.find("_block") == std::string::npos) continue;
      const std::string type = types.size() % 2 ? "fp8_e5m2" : "fp8_e4m3";
      types[tensor.name] = type;
      planned.type_options.plan->types[tensor.name.substr(0, tensor.name.rfind('.'))] = type;
    }
    REQUIRE(types.size() > 40);
    const ModelConversion conversion(stable_diffusion_file(name), out, planned);
    CHECK(conversion.warnings().empty());
    conversion.write({});
    const stable_diffusion::ComponentWeights converted(out, "unet");
    for (const auto& [tensor, type] : types) {
      INFO(tensor);
      CHECK(converted.find(tensor).dtype.name == type);
    }
    CHECK(formats::bits_per_value(converted.find("conv_in.weight").dtype) >= 16);
  }
}

TEST_CASE("what enters a UNet stays as it is in a single file, too, whichever text encoders are beside it") {
  for (const char* name : {"sd15", "sd21", "sdxl", "refiner"}) {
    INFO(name);
    const TemporaryFolder folder;
    const ModelConversion conversion(stable_diffusion_file(name), folder.path() / "out.safetensors",
                                     to_type("fp8_e4m3"));
    int entries = 0;
    for (const OutputTensor& tensor : conversion.parts().front().conversion->tensors())
      if (tensor.name == "model.diffusion_model.time_embed.0.weight" ||
          tensor.name == "model.diffusion_model.label_emb.0.2.weight") {
        CHECK(tensor.chosen.kept_because == "entry or exit layer");
        ++entries;
      }
    CHECK(entries >= 1);
  }
}

TEST_CASE("a transformer among other parts keeps its prefix in the other layout") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", bfl = folder.path() / "bfl.safetensors",
             back = folder.path() / "back.safetensors";
  const std::string prefix = "model.diffusion_model.", decoder = "vae.decoder.conv_in.bias";
  for (const bool alone : {false, true}) {
    PlainTensors tensors;
    for (const auto& [name, tensor] : small_flux()) tensors[prefix + name] = tensor;
    if (!alone) tensors[decoder] = normal_tensor({32}, 1);
    write_tensors<io::SafetensorsWriter>(source, tensors, "bf16");
    convert_file(source, bfl, with_layout(Layout::bfl));
    const std::string kept = alone ? "" : prefix;
    CHECK(InputWeights(bfl).lookup(kept + "double_blocks.0.img_attn.qkv.weight"));
    CHECK((InputWeights(bfl).lookup(decoder) != nullptr) != alone);
    convert_file(bfl, back, with_layout(Layout::diffusers));
    const InputWeights weights(back);
    REQUIRE(weights.tensors().size() == tensors.size());
    for (const auto& [name, tensor] : small_flux()) {
      INFO(name);
      REQUIRE(weights.lookup(kept + name));
      CHECK(decoded(*weights.lookup(kept + name)) == stored_as("bf16", tensor.values));
    }
  }
}

TEST_CASE("a transformer alone loses its prefix in the layout that it has, too, where one is asked for") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", first = folder.path() / "first.safetensors",
             second = folder.path() / "second.safetensors", gguf = folder.path() / "out.gguf";
  const std::string prefix = "model.diffusion_model.", decoder = "vae.decoder.conv_in.bias";
  for (const Layout layout : {Layout::diffusers, Layout::bfl}) {
    write_tensors<io::SafetensorsWriter>(source, small_flux(), "f32");
    convert_file(source, first, with_layout(layout));
    PlainTensors tensors;
    const InputWeights weights(first);
    for (const InputTensor& tensor : weights.tensors())
      tensors[prefix + tensor.name] = {tensor.shape, decoded(tensor)};
    const auto made = [&](const std::filesystem::path& out, const Settings& settings) {
      write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
      convert_file(source, out, settings);
      std::set<std::string> names;
      const InputWeights written(out);
      for (const InputTensor& tensor : written.tensors()) names.insert(tensor.name);
      return names;
    };
    const std::string name = layout == Layout::bfl ? "double_blocks.0.img_attn.qkv.weight"
                                                   : "transformer_blocks.0.attn.to_q.weight";
    CHECK(made(second, with_layout(layout)).contains(name));
    CHECK(made(second, to_type("")).contains(prefix + name));  // no layout is asked for: names stay
    CHECK(made(gguf, to_type("")).contains("double_blocks.0.img_attn.qkv.weight"));
    tensors[decoder] = normal_tensor({32}, 1);
    CHECK(made(second, with_layout(layout)).contains(prefix + name));
    CHECK(made(second, with_layout(layout)).contains(decoder));
  }
}

TEST_CASE("of a file that holds a whole model its CLIPs and its VAE stay as they are, alone they do not") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.gguf";
  const std::string unet = "model.diffusion_model.input_blocks.1.1.proj_in.weight",
                    t5 = "text_encoders.t5xxl.transformer.encoder.block.0.layer.0.SelfAttention.q.weight";
  const std::string layer = "text_model.encoder.layers.0.mlp.fc1.weight", mid = "decoder.mid.attn_1.q.weight";
  const auto types = [&](const std::vector<std::string>& names, const Settings& settings) {
    PlainTensors tensors;
    for (const std::string& name : names) tensors[name] = normal_tensor({64, 64}, 1);
    write_tensors<io::SafetensorsWriter>(source, tensors, "bf16");
    convert_file(source, out, settings);
    std::vector<std::string> found;
    for (const std::string& name : names) found.emplace_back(io::TensorFile(out).at(name).dtype.info.name);
    return found;
  };
  using Types = std::vector<std::string>;
  Settings to_q8 = to_type("q8_0");
  to_q8.layout = Layout::diffusers;
  for (const std::string clip :
       {"text_encoders.clip_l.transformer.", "text_encoder.", "cond_stage_model.transformer.",
        "cond_stage_model.model.", "conditioner.embedders.1.model.", "text_encoders.clip_g.transformer.",
        "clip_g."})
    for (const std::string vae : {"vae.", "first_stage_model."}) {
      INFO(clip << " " << vae);
      CHECK(types({unet, clip + layer, vae + mid, t5}, to_q8) == Types{"q8_0", "bf16", "bf16", "q8_0"});
      CHECK(types({unet, clip + layer, vae + mid}, to_type("q8_0", {"mid=q5_1"})) ==
            Types{"q8_0", "bf16", "q5_1"});
      CHECK(types({unet, clip + layer, vae + mid}, to_type("f16")) == Types{"f16", "f16", "f16"});
      CHECK(types({clip + layer}, to_q8) == Types{"q8_0"});
      CHECK(types({vae + mid}, to_q8) == Types{"q8_0"});
    }
  CHECK(types({layer}, to_q8) == Types{"q8_0"});
}

TEST_CASE("a VAE behind a prefix is known for one where it is alone") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors";
  for (const std::string prefix : {"", "vae.", "first_stage_model."}) {
    INFO(prefix);
    PlainTensors tensors{{prefix + "decoder.conv_in.weight", normal_tensor({32, 4, 3, 3}, 1)}};
    write_tensors<io::SafetensorsWriter>(source, tensors, "bf16");
    CHECK(kind_of(InputWeights(source)) == WeightsKind::autoencoder);
    tensors["model.diffusion_model.time_embed.0.weight"] = normal_tensor({32, 32}, 1);
    write_tensors<io::SafetensorsWriter>(source, tensors, "bf16");
    CHECK(kind_of(InputWeights(source)) == (prefix.empty() ? WeightsKind::autoencoder : WeightsKind::other));
  }
}

TEST_CASE("what cannot be put together or divided is refused by name") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.gguf";
  const auto refusal = [&](PlainTensors tensors) {
    write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
    return refusal_of([&] { convert_file(source, out, to_type("q8_0")); });
  };
  PlainTensors lacks_one = small_flux();
  lacks_one.erase("transformer_blocks.0.attn.to_v.weight");
  CHECK_THAT(refusal(lacks_one), Catch::Contains("'double_blocks.0.img_attn.qkv.weight'") &&
                                     Catch::Contains("has parts that are missing"));
  PlainTensors lacks_the_second = small_flux();
  lacks_the_second.erase("transformer_blocks.0.attn.to_k.weight");
  CHECK_THAT(refusal(lacks_the_second), Catch::Contains("is not next to the other parts"));
  PlainTensors other_width = small_flux();
  other_width["transformer_blocks.0.attn.to_k.weight"] = normal_tensor({64, 32}, 3);
  CHECK_THAT(refusal(other_width),
             Catch::Contains("'transformer_blocks.0.attn.to_k.weight'") && Catch::Contains("is not next to"));
  PlainTensors undivided{{"double_blocks.0.img_attn.qkv.weight", normal_tensor({64, 32}, 1)},
                         {"double_blocks.0.img_attn.proj.weight", normal_tensor({64, 32}, 1)}};
  write_tensors<io::SafetensorsWriter>(source, undivided, "f32");
  CHECK_THAT(refusal_of([&] {
               convert_file(source, folder.path() / "o.safetensors", with_layout(Layout::diffusers));
             }),
             Catch::Contains("has 64 rows, which 3 parts do not divide"));
}

TEST_CASE("a layout that is asked for and is none of the model's is told") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
  const auto warnings = [&](const PlainTensors& tensors) {
    write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
    return ModelConversion(source, out, with_layout(Layout::bfl)).warnings();
  };
  CHECK(warnings(small_flux()).empty());
  const auto told = warnings({{"down_blocks.0.resnets.0.conv1.weight", normal_tensor({32, 32}, 1)}});
  REQUIRE(told.size() == 1);
  CHECK_THAT(told.front(), Catch::Contains("--layout changes nothing"));
}

TEST_CASE("warnings count a tensor once, whichever kinds of file a folder's conversion considers") {
  const TemporaryFolder folder;
  const auto in = folder.path() / "in";
  std::filesystem::create_directory(in);
  write_tensors<io::SafetensorsWriter>(in / "diffusion_pytorch_model.safetensors", small_flux(), "bf16");
  Settings settings = with_layout(Layout::bfl);
  settings.type_options.rules = {parse_rule("to_q=fp8_e4m3")};
  for (const char* out : {"out.safetensors", "out"}) {
    const auto warnings = ModelConversion(in, folder.path() / out, settings).warnings();
    REQUIRE(warnings.size() == 1);  // of weight and bias of a block of each kind
    CHECK_THAT(warnings.front(), Catch::Contains("--rule has a type for some parts of 4 tensors"));
  }
}

TEST_CASE("relatives of Flux keep their names, of which the tables know but a part") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.gguf",
             bfl = folder.path() / "bfl.safetensors";
  PlainTensors stable_diffusion_3 = small_flux();
  stable_diffusion_3["pos_embed.proj.weight"] = normal_tensor({64, 16, 2, 2}, 1);
  write_tensors<io::SafetensorsWriter>(source, stable_diffusion_3, "f16");
  convert_file(source, out, to_type("q8_0"));
  const io::GgufFile file(out);
  CHECK_FALSE(file.value("general.architecture"));
  CHECK(file.tensors().size() == stable_diffusion_3.size());
  CHECK(file.at("transformer_blocks.0.attn.to_q.weight").type.info.name == "q8_0");
  CHECK(file.at("x_embedder.weight").type.info.name == "f16");  // at the end, as in Flux

  PlainTensors no_pooled_text = small_flux();
  std::erase_if(no_pooled_text,
                [](const auto& entry) { return entry.first.starts_with("time_text_embed.text_embedder."); });
  write_tensors<io::SafetensorsWriter>(source, no_pooled_text, "f16");
  convert_file(source, out, to_type("q8_0"));
  const io::GgufFile other(out);
  CHECK_FALSE(other.value("general.architecture"));
  CHECK(other.at("transformer_blocks.0.attn.to_q.weight").type.info.name == "q8_0");

  write_tensors<io::SafetensorsWriter>(source, small_flux(), "f16");
  convert_file(source, bfl, with_layout(Layout::bfl));
  PlainTensors flux_2{{"double_stream_modulation_img.lin.weight", normal_tensor({384, 64}, 1)}};
  const InputWeights weights(bfl);
  for (const InputTensor& tensor : weights.tensors()) flux_2[tensor.name] = {tensor.shape, decoded(tensor)};
  write_tensors<io::SafetensorsWriter>(source, flux_2, "f16");
  const ModelConversion model(source, folder.path() / "other.safetensors", with_layout(Layout::diffusers));
  REQUIRE(model.warnings().size() == 1);
  CHECK_THAT(model.warnings().front(), Catch::Contains("--layout changes nothing"));
  model.write({});
  CHECK(InputWeights(folder.path() / "other.safetensors").lookup("double_blocks.0.img_attn.qkv.weight"));
}

TEST_CASE("T5 in GGUF has ggml's names") {
  const TemporaryFolder folder;
  PlainTensors t5{
      {"shared.weight", normal_tensor({40, 64}, 1)},
      {"encoder.embed_tokens.weight", normal_tensor({40, 64}, 1)},
      {"encoder.block.0.layer.0.SelfAttention.q.weight", normal_tensor({64, 64}, 2)},
      {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", normal_tensor({32, 4}, 3)},
      {"encoder.block.0.layer.1.DenseReluDense.wo.weight", normal_tensor({64, 64}, 4)},
      {"encoder.final_layer_norm.weight", normal_tensor({64}, 5)}};
  const auto source = folder.path() / "t5.safetensors", out = folder.path() / "t5.gguf";
  write_tensors<io::SafetensorsWriter>(source, t5, "f16");
  convert_file(source, out, to_type("q8_0"));
  const io::GgufFile file(out);
  CHECK(file.value("general.architecture")->text() == "t5encoder");
  CHECK(file.tensors().size() == 5);
  CHECK(file.at("enc.blk.0.attn_q.weight").type.info.name == "q8_0");
  CHECK(file.at("enc.blk.0.ffn_down.weight").type.info.name == "q8_0");
  CHECK(file.at("token_embd.weight").type.info.name == "f16");
  CHECK(file.at("enc.blk.0.attn_rel_b.weight").type.info.name == "f16");
  CHECK(file.at("enc.output_norm.weight").type.info.name == "f32");
  const auto names_of = [](const io::GgufFile& weights) {
    std::vector<std::string> names;
    for (const auto& tensor : weights.tensors()) names.push_back(tensor.name);
    return names;
  };
  const auto expected = names_of(file);
  for (const std::string prefix : {"text_encoders.t5xxl.transformer.", "text_encoder_2."}) {
    INFO(prefix);
    PlainTensors alone;
    for (const auto& [name, tensor] : t5) alone[prefix + name] = tensor;
    write_tensors<io::SafetensorsWriter>(source, alone, "f16");
    convert_file(source, out, to_type("q8_0"));
    CHECK(names_of(io::GgufFile(out)) == expected);
    CHECK(io::GgufFile(out).value("general.architecture")->text() == "t5encoder");
    // Its own names without the prefix: the copy of its embeddings, too, or it would be a T5 among others.
    const auto same = folder.path() / "same.safetensors";
    convert_file(source, same, with_layout(Layout::diffusers));
    for (const auto& [name, tensor] : t5) CHECK(InputWeights(same).lookup(name));
    convert_file(same, out, to_type("q8_0"));
    CHECK(names_of(io::GgufFile(out)) == expected);
    // Beside another part of a model it stays behind its prefix, as readers of whole models expect it.
    alone["text_encoders.clip_l.transformer.text_model.embeddings.position_embedding.weight"] =
        normal_tensor({8, 64}, 6);
    write_tensors<io::SafetensorsWriter>(source, alone, "f16");
    convert_file(source, out, to_type("q8_0"));
    CHECK(InputWeights(out).lookup(prefix + "encoder.block.0.layer.0.SelfAttention.q.weight"));
  }
}

TEST_CASE("T5 whose two tables differ is not converted to names that have one of them") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "t5.safetensors", out = folder.path() / "t5.gguf";
  write_tensors<io::SafetensorsWriter>(
      source,
      {{"shared.weight", normal_tensor({40, 64}, 1)},
       {"encoder.embed_tokens.weight", normal_tensor({40, 64}, 2)},
       {"encoder.block.0.layer.0.SelfAttention.q.weight", normal_tensor({64, 64}, 3)}},
      "f16");
  CHECK_THROWS_WITH(convert_file(source, out, to_type("q8_0")),
                    source.string() +
                        ": tensor 'encoder.embed_tokens.weight': differs from 'shared.weight', "
                        "and they are one table of T5: get the file again, or leave out the one "
                        "that is wrong");
  convert_file(source, folder.path() / "same_names.safetensors", to_type("f32"));
}

TEST_CASE("shapes that older GGUF files hide come back") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "s.gguf", out = folder.path() / "o.safetensors";
  const PlainTensor plain = normal_tensor({6, 128}, 1);
  {
    io::GgufWriter writer(source);
    const std::vector<std::int32_t> shape{6, 128};
    writer.set("comfy.gguf.orig_shape.img_in.weight", std::span<const std::int32_t>(shape));
    writer.declare("img_in.weight", *formats::find_type("q4_k"), Shape{3, 256});
    writer.write(encoded("q4_k", plain.values));
    writer.commit();
  }
  convert_file(source, out, to_type("f32"));
  CHECK(InputWeights(out).lookup("img_in.weight")->shape == Shape{6, 128});
  CHECK(decoded(*InputWeights(out).lookup("img_in.weight")) == stored_as("q4_k", plain.values));
}

TEST_CASE("a GGUF model in several files becomes one, which says nothing of parts") {
  const TemporaryFolder folder;
  const auto part = [&](const std::string& number) {
    return folder.path() / ("m-0000" + number + "-of-00002.gguf");
  };
  const PlainTensors plain{{"a.weight", normal_tensor({4, 64}, 1)}, {"b.weight", normal_tensor({2, 64}, 2)}};
  std::uint16_t index = 0;
  for (const auto& [name, tensor] : plain) {
    io::GgufWriter writer(part(std::to_string(index + 1)));
    if (index == 0) writer.set("general.name", "two files");
    writer.set("split.no", index++);
    writer.set("split.count", std::uint16_t{2});
    writer.declare(name, *formats::find_type("f32"), tensor.shape);
    writer.write(encoded("f32", tensor.values));
    writer.commit();
  }
  for (const char* number : {"1", "2"}) {
    const auto out = folder.path() / "o.gguf";
    convert_file(part(number), out, to_type("q8_0"));
    const InputWeights made(out);
    CHECK(made.tensors().size() == 2);
    for (const auto& [name, tensor] : plain)
      CHECK(decoded(*made.lookup(name)) == stored_as("q8_0", tensor.values));
    const io::GgufFile file(out);
    CHECK(file.value("general.name")->text() == "two files");
    CHECK_FALSE(file.value("split.count"));
    CHECK_FALSE(file.value("split.no"));
    CHECK_THROWS_AS(convert_file(part(number), part("2"), to_type("q8_0")), families::RequestError);
  }
}

}  // namespace converted_layouts
