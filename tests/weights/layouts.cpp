// Files in other programs' layouts hold the parameters that the model's folder holds, bit for bit.
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/bfl_names.hpp>
#include <flux/component_weights.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>
#include <text/t5_gguf_names.hpp>
#include <vae/original_names.hpp>
#include <weights/files.hpp>

#include <precast/nn/parameters.hpp>

using namespace precast;
using namespace precast::testing;
using flux::ComponentWeights;
using weights::Part;

namespace {

std::vector<f32> loaded(const nn::ParameterSource& source, const std::string& name, const Shape& shape) {
  const HostTensor<f32> tensor = nn::load_host_tensor<f32>(nn::ParameterPath(source, name), shape);
  return {tensor.values().begin(), tensor.values().end()};
}

bool same_bits(const std::vector<f32>& a, const std::vector<f32>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(f32)) == 0;
}

/// How many parameters of the embedded model's component are not what the file gives under our names.
int different(const ComponentWeights& file, const std::string& component) {
  int count = 0;
  for (const auto& [name, tensor] : tensors_of(component))
    count += !same_bits(loaded(file, name, tensor.shape), values_in(tensor));
  return count;
}

}  // namespace

TEST_CASE("layouts: a transformer in BFL's names is the folder's, with any prefix") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  CHECK(bfl_transformer().size() == 100);
  for (const std::string prefix : {"", "model.diffusion_model.", "model.model.", "net.", "model."}) {
    INFO(prefix);
    write_tensors(file, with_prefix(prefix, bfl_transformer()));
    const ComponentWeights weights(file, Part::transformer);
    CHECK(weights.naming() == weights::Naming::original);
    CHECK(different(weights, "transformer") == 0);
    CHECK(weights.unread().empty());
    CHECK(weights.blocks("transformer_blocks.") == 2);
    CHECK(weights.blocks("single_transformer_blocks.") == 4);
  }
}

TEST_CASE("layouts: norms' scales may be called weights, and diffusers' names stay as they are") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  FileTensors renamed;
  for (const auto& [name, tensor] : bfl_transformer())
    renamed[name.ends_with(".scale") ? name.substr(0, name.size() - 5) + "weight" : name] = tensor;
  write_tensors(file, renamed);
  const ComponentWeights bfl(file, Part::transformer);
  CHECK(different(bfl, "transformer") == 0);
  CHECK(bfl.unread().empty());
  write_tensors(file, with_prefix("transformer.", tensors_of("transformer")));
  const ComponentWeights ours(file, Part::transformer);
  CHECK(different(ours, "transformer") == 0);
  CHECK(ours.unread().empty());
}

TEST_CASE("layouts: an all-in-one file has every component, and its keys are read") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "all.safetensors";
  FileTensors all = with_prefix("model.diffusion_model.", bfl_transformer());
  all.merge(with_prefix("text_encoders.clip_l.transformer.", tensors_of("text_encoder")));
  all.merge(with_prefix("text_encoders.t5xxl.transformer.", tensors_of("text_encoder_2")));
  all.merge(with_prefix("vae.", original_vae()));
  write_tensors(file, all);
  for (const Part part : weights::flux_parts) {
    const std::string component(weights::folder_of(part));
    INFO(component);
    const ComponentWeights weights(file, part);
    CHECK(different(weights, component) == 0);
    CHECK(weights.unread().empty());
  }
}

TEST_CASE("layouts: single files of the VAE, CLIP and T5") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  write_tensors(file, original_vae());
  CHECK(different(ComponentWeights(file, Part::autoencoder), "vae") == 0);
  write_tensors(file, tensors_of("text_encoder"));
  const ComponentWeights clip(file, Part::clip);
  CHECK(different(clip, "text_encoder") == 0);
  CHECK(clip.unread().empty());
  CHECK(clip.blocks("encoder.layers.") == 2);
  write_tensors(file,
                with_prefix("text_model.", tensors_of("text_encoder")));  // as clip_l.safetensors has it
  const ComponentWeights usual(file, Part::clip);
  int wrong = 0;  // its modules ask for either
  for (const auto& [name, tensor] : tensors_of("text_encoder"))
    wrong += !same_bits(loaded(usual, "text_model." + name, tensor.shape), values_in(tensor));
  CHECK(wrong == 0);
  CHECK(usual.unread().empty());
  CHECK(usual.blocks("encoder.layers.") == 2);
  // As Stable Diffusion 1.x and XL have the same CLIP.
  for (const std::string prefix : {"cond_stage_model.transformer.", "conditioner.embedders.0.transformer."}) {
    write_tensors(file, with_prefix(prefix, tensors_of("text_encoder")));
    CHECK(different(ComponentWeights(file, Part::clip), "text_encoder") == 0);
  }
  FileTensors t5 = tensors_of("text_encoder_2");
  t5["encoder.embed_tokens.weight"] = t5.at("shared.weight");
  write_tensors(file, t5);
  const ComponentWeights weights(file, Part::t5);
  CHECK(different(weights, "text_encoder_2") == 0);
  CHECK(weights.unread().empty());
}

TEST_CASE("layouts: T5 in GGUF's names") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "t5.gguf";
  write_gguf(file, gguf_t5(), "f32", "t5encoder");
  const ComponentWeights weights(file, Part::t5);
  CHECK(weights.naming() == weights::Naming::gguf);
  CHECK(different(weights, "text_encoder_2") == 0);
  CHECK(weights.unread().empty());
}

TEST_CASE("layouts: rows of blocks are cut out of BFL's fused matrices, in GGUF of city96 and of sd.cpp") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.gguf";
  const auto expect = [&](const FileTensors& ours, const std::string& format,
                          const ComponentWeights& weights) {
    int count = 0, in_blocks = 0;
    const DtypeInfo info = io::gguf_type(format)->info;
    for (const auto& [name, tensor] : ours) {
      std::vector<f32> expected = values_in(tensor);
      const nn::Parameter parameter = weights.find(name);
      if (tensor.shape.rank() == 2 && tensor.shape.back() % info.values_per_block == 0) {
        CHECK(parameter.dtype == info);
        ++in_blocks;
        std::vector<std::byte> bytes(expected.size() / static_cast<std::size_t>(info.values_per_block) *
                                     static_cast<std::size_t>(info.bytes_per_block));
        quant::encode(format, expected, bytes);
        quant::decode(format, bytes, expected);
      }
      count += !same_bits(loaded(weights, name, tensor.shape), expected);
    }
    CHECK(in_blocks > 0);
    return count;
  };
  for (const std::string format : {"q8_0", "q4_0", "q4_k"})
    for (const std::string prefix : {"", "model.diffusion_model."}) {
      INFO(format << " " << prefix);
      write_gguf(file, with_prefix(prefix, bfl_transformer()), format, prefix.empty() ? "flux" : "");
      CHECK(expect(tensors_of("transformer"), format, ComponentWeights(file, Part::transformer)) == 0);
    }
  write_gguf(file, tensors_of("transformer"), "q5_0", "flux");
  CHECK(expect(tensors_of("transformer"), "q5_0", ComponentWeights(file, Part::transformer)) == 0);
}

TEST_CASE("layouts: tables of names are the same in both directions") {
  const auto check = [](std::span<const io::NameLine> table, std::int64_t levels, const FileTensors& theirs) {
    for (const auto& [name, tensor] : theirs) {
      INFO(name);
      const auto ours = io::our_rows(table, name, levels);
      REQUIRE(!ours.empty());
      int next = 0;
      for (const io::NamedRows& rows : ours) {
        CHECK(rows.first == next);
        next += rows.count;
        const auto back = io::their_rows(table, rows.name, levels);
        REQUIRE(back.has_value());
        CHECK(*back == io::NamedRows{name, rows.first, rows.count, rows.of, rows.halves_swapped});
      }
      CHECK(next == ours.front().of);
    }
  };
  check(flux::bfl_names, 0, bfl_transformer());
  check(vae::original_names, 3, original_vae());
  CHECK(io::their_rows(flux::bfl_names, "transformer_blocks.x.norm1.linear.weight") == std::nullopt);
  CHECK(io::their_rows(flux::bfl_names, "transformer_blocks.01.norm1.linear.weight") == std::nullopt);
  CHECK(io::our_rows(flux::bfl_names, "img_in.lora").empty());
  CHECK(io::their_rows(text::t5_gguf_names, "shared.weight")->name == "token_embd.weight");
}

TEST_CASE("layouts: keys that nothing reads are named") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  FileTensors more = bfl_transformer();
  more["control_in.weight"] = more.at("img_in.weight");
  more["double_blocks.0.img_attn.extra"] = more.at("img_in.bias");
  write_tensors(file, more);
  CHECK(ComponentWeights(file, Part::transformer).unread() ==
        std::vector<std::string>{"control_in.weight", "double_blocks.0.img_attn.extra"});

  // In a file of several parts, what is in none of them; scales of logits lie in every one that ComfyUI
  // wrote.
  FileTensors parts;
  for (const auto& [name, tensor] : bfl_transformer()) parts["model.diffusion_model." + name] = tensor;
  for (const char* name :
       {"model_ema.decay", "model.diffusion_model.extra", "text_encoders.t5xxl.logit_scale"})
    parts[name] = more.at("img_in.bias");
  write_tensors(file, parts);
  CHECK(ComponentWeights(file, Part::transformer).unread() ==
        std::vector<std::string>{"model.diffusion_model.extra", "model_ema.decay"});
}

TEST_CASE("layouts: what is no plain Flux model is refused by name, in one line") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  const FileTensors bfl = bfl_transformer();
  const auto refused = [&](const FileTensors& tensors, Part part = Part::transformer) {
    write_tensors(file, tensors);
    return refusal(file, [&] { ComponentWeights(file, part); });
  };
  const auto with = [&](const std::string& name) {
    FileTensors tensors = bfl;
    tensors[name] = tensors.at("img_in.bias");
    return refused(tensors);
  };
  CHECK(says(with("single_stream_modulation.lin.weight"), "is a FLUX.2 model, which is not read"));
  CHECK(says(with("distilled_guidance_layer.in_proj.weight"), "is a Chroma model"));
  for (const auto& [name, model] : std::map<std::string, std::string>{
           {"txt_in.individual_token_refiner.blocks.0.norm1.weight", "a HunyuanVideo or HunyuanImage model"},
           {"double_layers.0.attn.w1q.weight", "an AuraFlow model"},
           {"double_stream_blocks.0.block.attn1.to_q.weight", "a HiDream model"},
           {"patchify_proj.weight", "an LTX video model"},
           {"t_block.1.weight", "a PixArt model"},
           {"adaln_single.linear.weight", "a PixArt or Allegro model"},
           {"blocks.block0.blocks.0.block.attn.to_q.0.weight", "a Cosmos model"},
           {"blocks.0.adaln_modulation_self_attn.1.weight", "a Cosmos model"}})
    CHECK(says(with(name), "is " + model + ", which is not read"));
  // In diffusers' names, as the state_dict of its 0.42.1's classes has them. HunyuanVideo has all of Flux's
  // beginnings beside its own.
  for (const auto& [name, model] : std::map<std::string, std::string>{
           {"context_embedder.token_refiner.refiner_blocks.0.norm1.weight",
            "a HunyuanVideo or HunyuanImage model"},
           {"joint_transformer_blocks.0.attn.to_q.weight", "an AuraFlow model"},
           {"time_embed.emb.timestep_embedder.linear_1.weight", "an LTX video model"},
           {"caption_norm.weight", "a Sana model"},
           {"time_embed.t_embedder.linear_1.weight", "a Cosmos model"}}) {
    FileTensors tensors = tensors_of("transformer");
    tensors[name] = bfl.at("img_in.bias");
    CHECK(says(refused(tensors), "is " + model + ", which is not read"));
    CHECK(says(refused({{name, bfl.at("img_in.bias")}}), model));
  }
  // Of diffusers' classes, by names that Flux does not have; these take no pooled text.
  FileTensors relative = tensors_of("transformer");
  std::erase_if(relative,
                [](const auto& entry) { return entry.first.starts_with("time_text_embed.text_embedder."); });
  CHECK(says(refused(relative), "is another model with transformer blocks, which is not read"));
  for (const auto& [name, model] : std::map<std::string, std::string>{
           {"text_fusion.projector.weight", "a Krea 2 model"},
           {"txt_in.text_norm.weight", "a Qwen-Image 2.1 model"},
           {"x_embedders.image.weight", "a FLUX.3 model"},
           {"context_embedder_norm.weight", "an Ovis-Image model"},
           {"glyph_projector.net.2.weight", "a GLM-Image model"},
           {"time_condition_embed.timestep_embedder.linear_1.weight", "a CogView model"},
           {"patch_embed.text_proj.weight", "a CogVideoX model"},
           {"pos_frequencies", "a Mochi video model"},
           {"global_proj.0.weight", "a Stable Audio model"},
           {"caption_projection.0.linear.weight", "a Bria FIBO model"},
           {"time_embed.timestep_embedder.linear_1.weight", "a LongCat-Image or Bria model"},
           {"time_text_embed.norm.weight", "a Nucleus-Image model"},
           {"proj_out_1.weight", "a DiT model"}}) {
    FileTensors tensors = relative;
    tensors[name] = bfl.at("img_in.bias");
    CHECK(says(refused(tensors), "is " + model + ", which is not read"));
  }
  relative = bfl;
  std::erase_if(relative, [](const auto& entry) { return entry.first.starts_with("vector_in."); });
  CHECK(says(refused(relative), "is another model with transformer blocks"));
  relative["x_embedder.lora_A.weight"] = bfl.at("img_in.bias");
  CHECK(says(refused(relative), "is a LoRA"));
  CHECK(says(refused({{"transformer_blocks.0.attn.to_q.weight", bfl.at("img_in.bias")}}),
             "is a part of a model with transformer blocks"));
  CHECK(says(with("double_blocks.0.img_attn.qkv.lora_A.weight"), "is a LoRA"));
  const auto channels = [&](std::int64_t columns) {
    FileTensors tensors = bfl;
    const std::int64_t rows = tensors.at("img_in.weight").shape[0];
    tensors["img_in.weight"] =
        file_tensor("F32", {rows, columns}, std::vector<f32>(static_cast<std::size_t>(rows * columns)));
    return refused(tensors);
  };
  CHECK(says(channels(32), "Canny or Depth"));
  CHECK(says(channels(96), "Fill"));
  CHECK(says(channels(20), "takes 20 channels in and gives 16"));
  // Of those with plain Flux's tensors, by what the header says.
  const auto announced = [&](const std::string& architecture) {
    write_tensors(file, bfl, {{"modelspec.architecture", architecture}});
    return refusal(file, [&] { ComponentWeights(file, Part::transformer); });
  };
  for (const char* architecture : {"Flux.1-kontext-dev", "flux-1-Kontext"})
    CHECK(says(announced(architecture), "is a Flux Kontext model, which edits a picture that it is given"));
  for (const char* architecture : {"Flux.1-dev", "flux-1-schnell", "Flux.1-krea-dev"}) {
    write_tensors(file, bfl, {{"modelspec.architecture", architecture}});
    CHECK_NOTHROW(ComponentWeights(file, Part::transformer));
  }
  const FileTensor any = bfl.at("img_in.bias");
  CHECK(says(refused({{"model.diffusion_model.joint_blocks.0.x", any}}), "Stable Diffusion 3"));
  CHECK(says(refused({{"model.diffusion_model.input_blocks.0.x", any}}), "Stable Diffusion 1, 2 or XL"));
  CHECK(says(refused({{"lora_unet_double_blocks_0_img_attn_qkv.lora_down.weight", any}}), "a LoRA"));
  CHECK(says(refused({{"control_model.input_blocks.0.0.weight", any}}), "a ControlNet"));
  // It has blocks of an encoder, as CLIP has without text_model.
  const FileTensors taesd{{"encoder.layers.0.weight", any}, {"decoder.layers.2.conv.0.weight", any}};
  CHECK(says(refused(taesd), "a tiny autoencoder (TAESD)"));
  CHECK(says(refused(taesd, Part::autoencoder),
             "does not hold the VAE of a Flux model but a tiny autoencoder (TAESD)"));
  CHECK(says(refused({{"some.thing", any}}), "nor anything else that is supported"));
  // OpenCLIP is no CLIP of Flux, and a tensor that files are left with is no text encoder.
  for (const char* name : {"cond_stage_model.model.ln_final.weight", "text_model.embeddings.position_ids"})
    CHECK(says(refused({{name, any}}, Part::clip), "nor anything else that is supported"));
  CHECK(says(refused({}), "nor anything else"));
  // Two files in each other's place.
  CHECK(says(refused(tensors_of("text_encoder"), Part::t5),
             "does not hold the second text encoder (T5) of a Flux model but the first text encoder (CLIP)"));
  CHECK(says(refused(original_vae()), "does not hold the transformer of a Flux model but the VAE"));
  // The same twice.
  FileTensors twice = bfl;
  twice.merge(with_prefix("model.diffusion_model.", bfl));
  CHECK(says(refused(twice),
             "holds the transformer twice, with no prefix and prefix 'model.diffusion_model.'"));
  FileTensors both = bfl;
  both.merge(tensors_of("transformer"));
  CHECK(says(refused(both), "holds the transformer twice"));
  // Layouts of other programs.
  FileTensors other = bfl;
  other["double_blocks.0.img_attn.qkv.qweight"] = any;
  CHECK(says(refused(other), "nunchaku"));
  other = bfl;
  other["double_blocks.0.img_attn.qkv._weight_qdata"] = any;
  CHECK(says(refused(other), "torchao"));
  other = bfl;
  other["double_blocks.0.img_attn.qkv.weight._data"] = any;
  CHECK(says(refused(other), "quanto"));
}

TEST_CASE("layouts: missing tensors, blocks and rows are told in one line") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  const auto find = [&](FileTensors tensors, const std::string& name) {
    write_tensors(file, tensors);
    const ComponentWeights weights(file, Part::transformer);
    return refusal(file, [&] { weights.find(name); });
  };
  FileTensors tensors = bfl_transformer();
  tensors.erase("double_blocks.1.txt_attn.qkv.weight");
  CHECK(says(find(tensors, "transformer_blocks.1.attn.add_k_proj.weight"),
             "tensor 'double_blocks.1.txt_attn.qkv.weight': is missing"));
  tensors = bfl_transformer();
  tensors["single_blocks.0.linear1.weight"] = file_tensor("F32", {890, 4}, std::vector<f32>(890 * 4));
  CHECK(
      says(find(tensors, "single_transformer_blocks.0.attn.to_q.weight"), "890 rows are not 7 equal parts"));
  tensors = bfl_transformer();
  tensors["final_layer.adaLN_modulation.1.bias"] = file_tensor("F32", {255}, std::vector<f32>(255));
  CHECK(says(find(tensors, "norm_out.linear.bias"), "its rows are not two halves"));

  tensors = bfl_transformer();
  std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("single_blocks.1."); });
  write_tensors(file, tensors);
  const ComponentWeights gap(file, Part::transformer);
  CHECK(says(refusal(file, [&] { gap.blocks("single_transformer_blocks."); }),
             "lacks single_transformer_blocks.1, of 4 such blocks"));
  tensors = bfl_transformer();
  for (const std::string number : {"9223372036854775807", "-7"})
    tensors["single_blocks." + number + ".linear1.weight"] = tensors["single_blocks.0.linear1.weight"];
  write_tensors(file, tensors);
  CHECK(ComponentWeights(file, Part::transformer).blocks("single_transformer_blocks.") == 4);
  tensors = bfl_transformer();
  std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("single_blocks.3."); });
  write_tensors(file, tensors);
  const auto config = shapes_model() / "transformer/config.json";
  CHECK(says(refusal(file,
                     [&] {
                       flux::check_agreement(ComponentWeights(file, Part::transformer),
                                             flux::TransformerConfig::load(config), config,
                                             flux::ConfigPlace::elsewhere);
                     }),
             "has a number of single blocks of 3 where"));
  // Layers that a config leaves out, wherever it lies.
  write_tensors(file, original_vae());
  const auto vae_config = shapes_model() / "vae/config.json";
  auto fewer = precast::vae::AutoencoderConfig::load(vae_config);
  --fewer.layers_per_block;
  for (const auto place : {flux::ConfigPlace::beside, flux::ConfigPlace::elsewhere})
    CHECK(says(refusal(file,
                       [&] {
                         flux::check_agreement(ComponentWeights(file, Part::autoencoder), fewer, vae_config,
                                               place);
                       }),
               "has a number of layers in a level of"));
}

TEST_CASE("layouts: a config out of tensors is the one that the folder's config.json says") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  // As wide a head as Flux's: two of 128, and one block of each kind.
  FileTensors tensors;
  const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    tensors[name] = file_tensor("BF16", {rows, columns},
                                std::vector<std::uint16_t>(static_cast<std::size_t>(rows * columns)));
  };
  matrix("img_in.weight", 256, 64);
  matrix("txt_in.weight", 256, 40);
  matrix("vector_in.in_layer.weight", 256, 24);
  tensors["final_layer.linear.bias"] = file_tensor("F32", {64}, std::vector<f32>(64));
  for (const std::string norm :
       {"double_blocks.0.img_attn.norm.query_norm.scale", "single_blocks.0.norm.query_norm.scale"})
    tensors[norm] = file_tensor("F32", {128}, std::vector<f32>(128));
  write_tensors(file, tensors);
  flux::TransformerConfig config = flux::transformer_config(ComponentWeights(file, Part::transformer));
  CHECK(config.num_layers == 1);
  CHECK(config.num_single_layers == 1);
  CHECK(config.num_attention_heads == 2);
  CHECK(config.attention_head_dim == 128);
  CHECK(config.in_channels == 64);
  CHECK(config.joint_attention_dim == 40);
  CHECK(config.pooled_projection_dim == 24);
  CHECK(!config.guidance_embeds);
  matrix("guidance_in.in_layer.weight", 256, 256);
  write_tensors(file, tensors);
  CHECK(flux::transformer_config(ComponentWeights(file, Part::transformer)).guidance_embeds);

  write_tensors(file, bfl_transformer());
  CHECK(says(refusal(file, [&] { flux::transformer_config(ComponentWeights(file, Part::transformer)); }),
             "heads of 32 values"));
  const auto agree = shapes_model() / "transformer/config.json";
  CHECK_NOTHROW(flux::check_agreement(ComponentWeights(file, Part::transformer),
                                      flux::TransformerConfig::load(agree), agree,
                                      flux::ConfigPlace::elsewhere));
}
