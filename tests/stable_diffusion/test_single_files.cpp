// Single files in the authors' names against the folders that they were made of (tests/golden).
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/inspect/inspect_file.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/configs_of_tensors.hpp>
#include <stable_diffusion/ldm_names.hpp>
#include <stable_diffusion/unread_tensors.hpp>
#include <stable_diffusion/weight_file.hpp>
#include <support/stable_diffusion.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>

using namespace precast;
using namespace precast::testing;
using stable_diffusion::ComponentWeights, stable_diffusion::Kind, stable_diffusion::Naming;

namespace {

/// Sizes without ones at their end.
std::vector<std::int64_t> sizes_of(const Shape& shape) {
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  while (sizes.size() > 1 && sizes.back() == 1) sizes.pop_back();
  return sizes;
}

/// Whether the file gives each of the folder's weights bit for bit.
void check_same_weights(const ComponentWeights& file, const ComponentWeights& folder) {
  std::size_t compared = 0;
  for (const std::string& name : folder.names()) {
    if (name.ends_with("position_ids")) continue;  // whole numbers, which no module reads
    INFO(name);
    REQUIRE(file.contains(name));
    const nn::Parameter one = file.find(name), other = folder.find(name);
    CHECK(one.dtype == other.dtype);
    CHECK(sizes_of(one.shape) == sizes_of(other.shape));
    REQUIRE(file.shape(name));
    CHECK(*file.shape(name) == one.shape);
    CHECK(std::ranges::equal(one.bytes, other.bytes));
    ++compared;
  }
  CHECK(compared > 20);
}

struct Expected {
  std::string name;
  Kind kind;
  std::string words;
  std::map<std::string, Naming> components;
};
const std::vector<Expected> expected{
    {"sd15",
     Kind::v1,
     "Stable Diffusion 1.x",
     {{"unet", Naming::original}, {"vae", Naming::original}, {"text_encoder", Naming::ours}}},
    {"sd21",
     Kind::v2,
     "Stable Diffusion 2.x",
     {{"unet", Naming::original}, {"vae", Naming::original}, {"text_encoder", Naming::openclip}}},
    {"sdxl",
     Kind::xl,
     "Stable Diffusion XL",
     {{"unet", Naming::original},
      {"vae", Naming::original},
      {"text_encoder", Naming::ours},
      {"text_encoder_2", Naming::openclip}}},
    {"refiner",
     Kind::xl_refiner,
     "Stable Diffusion XL refiner",
     {{"unet", Naming::original}, {"vae", Naming::original}, {"text_encoder_2", Naming::openclip}}},
};

/// A component of a single file, its names beginning with another prefix; `named` says how they do in it.
FileTensors component_of(const std::string& name, const std::string& named, const std::string& prefix) {
  FileTensors tensors;
  for (const auto& [stored, tensor] : stored_tensors(stable_diffusion_file(name)))
    if (stored.starts_with(named)) tensors[prefix + stored.substr(named.size())] = tensor;
  return tensors;
}

/// A file of a UNet alone, of so many channels in.
std::filesystem::path unet_file(const TemporaryFolder& folder, const std::string& prefix,
                                std::int64_t channels, const FileTensors& more = {}) {
  const auto zeros = [](const Shape& shape) {
    return file_tensor("F32", shape, std::vector<float>(static_cast<std::size_t>(shape.elements())));
  };
  FileTensors tensors = more;
  tensors[prefix + "input_blocks.0.0.weight"] = zeros(Shape{2, channels, 1, 1});
  tensors[prefix + "time_embed.0.weight"] = zeros(Shape{2, 2});
  const std::filesystem::path file = folder.path() / "model.safetensors";
  write_tensors(file, tensors);
  return file;
}

}  // namespace

TEST_CASE("single files give each component's weights bit for bit as their folders do") {
  for (const Expected& one : expected)
    for (const auto& [component, naming] : one.components) {
      INFO(one.name << " " << component);
      const ComponentWeights file(stable_diffusion_file(one.name), component);
      const ComponentWeights folder(stable_diffusion_model(one.name) / component, component);
      CHECK(file.naming() == naming);
      CHECK(folder.naming() == Naming::ours);
      CHECK(file.unread().empty());
      check_same_weights(file, folder);
      // The original text encoder of 2.x has one layer more than are run.
      const bool drops_layer = one.kind == Kind::v2 && component == "text_encoder";
      const std::int64_t more = drops_layer ? 1 : 0;
      for (const std::string_view stem :
           {"down_blocks.", "up_blocks.", "text_model.encoder.layers.", "decoder.up_blocks."})
        CHECK(file.blocks(stem) == (folder.blocks(stem) ? folder.blocks(stem) + more : 0));
    }
}

TEST_CASE("a text encoder's names may be without text_model., in a single file and in a folder") {
  // 1.x under the names that merges have, and a folder as transformers writes it from version 5 on.
  const std::string within = "text_model.", prefix = "cond_stage_model.transformer.";
  const auto without = [&](const std::filesystem::path& from, const std::filesystem::path& to) {
    const io::ComponentSource source(from);
    FileTensors tensors;
    for (const io::TensorEntry* entry : source.tensors()) {
      std::string name = entry->name;
      if (const std::size_t at = name.find(within); at == 0 || name.starts_with(prefix + within))
        name.erase(at, within.size());
      tensors[name] = {std::string(entry->dtype.file_name), entry->shape,
                       std::string(reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size())};
    }
    write_tensors(to, tensors);
  };
  const TemporaryFolder place;
  const std::filesystem::path file = place.path() / "nai.safetensors",
                              saved = place.path() / "text_encoder/model.safetensors",
                              folder = stable_diffusion_model("sd15") / "text_encoder";
  std::filesystem::create_directory(saved.parent_path());
  without(stable_diffusion_file("sd15"), file);
  without(folder, saved);
  const ComponentWeights expected_weights(folder, "text_encoder");
  check_same_weights(ComponentWeights(file, "text_encoder"), expected_weights);
  check_same_weights(ComponentWeights(saved.parent_path(), "text_encoder"), expected_weights);
}

TEST_CASE("single files are known by their tensors") {
  for (const Expected& one : expected) {
    INFO(one.name);
    const auto found = stable_diffusion::weight_file(io::ComponentSource(stable_diffusion_file(one.name)));
    REQUIRE(found);
    CHECK(found->kind == one.kind);
    CHECK(in_words(*found) == one.words);
    CHECK(refusal(*found) == "");
    std::map<std::string, Naming> components;
    for (const auto& part : found->components) components[part.component] = part.naming;
    CHECK(components == one.components);
  }
  for (const char* folder : {"unet", "vae", "text_encoder"})
    CHECK_FALSE(stable_diffusion::weight_file(io::ComponentSource(stable_diffusion_model("sd15") / folder)));
}

TEST_CASE("one OpenCLIP under Stability's later names is 2.x's where its UNet takes no pooled text") {
  const std::string named = "cond_stage_model.model.", prefix = "conditioner.embedders.0.model.";
  FileTensors tensors;
  for (const auto& [name, tensor] : stored_tensors(stable_diffusion_file("sd21")))
    tensors[name.starts_with(named) ? prefix + name.substr(named.size()) : name] = tensor;
  const TemporaryFolder place;
  const std::filesystem::path file = place.path() / "file";
  write_tensors(file, tensors);
  const auto found = stable_diffusion::weight_file(io::ComponentSource(file));
  REQUIRE(found);
  CHECK(found->kind == Kind::v2);
  CHECK_FALSE(found->find("text_encoder_2"));
  REQUIRE(found->find("text_encoder"));
  CHECK(found->find("text_encoder")->prefix == prefix);
  check_same_weights(ComponentWeights(file, "text_encoder"),
                     ComponentWeights(stable_diffusion_model("sd21") / "text_encoder", "text_encoder"));
}

TEST_CASE("a component has the same places in a file of its own and beside a UNet") {
  const std::filesystem::path model = stable_diffusion_model("sdxl");
  // Under the prefixes that ComfyUI saves text encoders with, the VAE in diffusers' names.
  FileTensors tensors =
      component_of("sdxl", "conditioner.embedders.0.transformer.", "text_encoders.clip_l.transformer.");
  const auto add = [&](const FileTensors& more, const std::string& prefix) {
    for (const auto& [name, tensor] : more) tensors[prefix + name] = tensor;
  };
  add(component_of("sdxl", "model.diffusion_model.", "diffusion_model."), "");
  add(stored_tensors(model / "text_encoder_2"), "clip_g.transformer.");
  add(stored_tensors(model / "vae"), "vae.");
  const TemporaryFolder place;
  const std::filesystem::path file = place.path() / "file", alone = place.path() / "alone";
  write_tensors(file, tensors);
  const auto found = stable_diffusion::weight_file(io::ComponentSource(file));
  REQUIRE(found);
  CHECK(found->kind == Kind::xl);
  for (const auto& [component, prefix] :
       std::map<std::string, std::string>{{"unet", "diffusion_model."},
                                          {"text_encoder", "text_encoders."},
                                          {"text_encoder_2", "clip_g."},
                                          {"vae", "vae."}}) {
    INFO(component);
    const ComponentWeights folder(model / component, component);
    check_same_weights(ComponentWeights(file, component), folder);
    FileTensors own;
    for (const auto& [name, tensor] : tensors)
      if (name.starts_with(prefix)) own[name] = tensor;
    write_tensors(alone, own);
    check_same_weights(ComponentWeights(alone, component), folder);
  }
}

TEST_CASE("what a UNet of 2.x predicts is told by the spread of a bias, where it has four levels") {
  const TemporaryFolder folder;
  const std::string prefix = "model.diffusion_model.";
  const auto found = [&](std::int64_t channels, std::int64_t context, const std::vector<float>& biases) {
    FileTensors more;
    more[prefix + "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight"] =
        file_tensor("F32", Shape{1, context}, std::vector<float>(static_cast<std::size_t>(context)));
    if (!biases.empty())
      more[prefix + std::string(stable_diffusion::bias_of_prediction)] =
          file_tensor("F32", Shape{static_cast<std::int64_t>(biases.size())}, biases);
    const auto file =
        stable_diffusion::weight_file(io::ComponentSource(unet_file(folder, prefix, channels, more)));
    return scheduler_config(*file).value("prediction_type", "epsilon");
  };
  // Of these the standard deviations are 0.1 and 0.08, whatever their mean.
  const std::vector<float> wide{0.9f, 1.1f}, narrow{0.92f, 1.08f};
  CHECK(found(4, 1024, wide) == "v_prediction");
  CHECK(found(4, 1024, narrow) == "epsilon");
  CHECK(found(4, 1024, {}) == "v_prediction");
  CHECK(found(9, 1024, wide) == "epsilon");
  CHECK(found(4, 768, wide) == "epsilon");
}

TEST_CASE("a UNet alone is known by its channels, its projections and its context") {
  const TemporaryFolder folder;
  const auto found = [&](const std::string& prefix, std::int64_t channels, const FileTensors& more = {}) {
    const auto file =
        stable_diffusion::weight_file(io::ComponentSource(unet_file(folder, prefix, channels, more)));
    return file ? in_words(*file) : std::string("nothing");
  };
  const std::string prefix = "model.diffusion_model.";
  const auto matrix = [](const Shape& shape) {
    return file_tensor("F32", shape, std::vector<float>(static_cast<std::size_t>(shape.elements())));
  };
  CHECK(found("", 4) == "Stable Diffusion 1.x");
  CHECK(found(prefix, 9) == "Stable Diffusion 1.x, inpainting");
  CHECK(found(prefix, 4, {{prefix + "input_blocks.1.1.proj_in.weight", matrix(Shape{2, 2, 1, 1})}}) ==
        "Stable Diffusion 1.x");
  CHECK(found(prefix, 4, {{prefix + "input_blocks.1.1.proj_in.weight", matrix(Shape{2, 2})}}) ==
        "Stable Diffusion 2.x");
  const FileTensors xl{{prefix + "label_emb.0.0.weight", matrix(Shape{2, 2})}};
  CHECK(found(prefix, 4, xl) == "Stable Diffusion XL");
  CHECK(found(prefix, 9, xl) == "Stable Diffusion XL, inpainting");
  FileTensors refiner = xl;
  refiner[prefix + "input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight"] = matrix(Shape{1, 1280});
  CHECK(found(prefix, 4, refiner) == "Stable Diffusion XL refiner");
  // Two values in a byte, with the shape beside them.
  const std::string packed = prefix + "input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight";
  refiner = xl;
  refiner[packed] = {"U8", Shape{640, 1}, std::string(640, '\0')};
  refiner[packed + ".absmax"] = matrix(Shape{20});
  refiner[packed + ".quant_map"] = matrix(Shape{16});
  refiner[packed + ".quant_state.bitsandbytes__nf4"] =
      json_tensor(R"({"shape": [1, 1280], "dtype": "bfloat16", "blocksize": 64, "quant_type": "nf4"})");
  CHECK(found(prefix, 4, refiner) == "Stable Diffusion XL refiner");
  CHECK(found("some.other.prefix.", 4) == "nothing");
}

TEST_CASE("the last layer of a text encoder of 2.x, which is not run, is none that a warning names") {
  const auto one = [](const Shape& shape) {
    return file_tensor("F32", shape, std::vector<float>(static_cast<std::size_t>(shape.elements())));
  };
  const std::string unet = "model.diffusion_model.",
                    layers = "cond_stage_model.transformer.text_model.encoder.layers.";
  const TemporaryFolder place;
  const std::filesystem::path file = place.path() / "file";
  write_tensors(file, {{unet + "input_blocks.0.0.weight", one({1, 4})},
                       {unet + "time_embed.0.weight", one({1})},
                       {unet + "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", one({1, 1024})},
                       {"cond_stage_model.transformer.text_model.final_layer_norm.weight", one({1})},
                       {layers + "0.mlp.fc1.weight", one({1, 1})},
                       {layers + "1.mlp.fc1.weight", one({1, 1})},
                       {layers + "2.mlp.fc1.weight", one({1, 1})}});
  const ComponentWeights weights(file, "text_encoder");
  text::ClipConfig config;
  config.num_hidden_layers = 2;
  CHECK(unread_tensors(weights, config).empty());
  config.num_hidden_layers = 1;
  CHECK(unread_tensors(weights, config) == std::vector<std::string>{layers + "2.mlp.fc1.weight"});
}

TEST_CASE("what a single file lacks, or is instead, is one line") {
  const TemporaryFolder folder;
  const std::string prefix = "model.diffusion_model.";
  const auto problem = [&](const std::filesystem::path& file, const char* component) {
    try {
      const ComponentWeights opened(file, component);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("opened");
  };
  CHECK(says(problem(unet_file(folder, prefix, 4), "vae"),
             "is Stable Diffusion 1.x without its vae (it holds unet): give --model a folder that has it"));
  CHECK(says(
      problem(unet_file(folder, prefix, 8), "unet"),
      "is InstructPix2Pix of Stable Diffusion 1.x, which edits a picture as instructed, which is not read"));
  CHECK(says(problem(unet_file(folder, prefix, 5), "unet"), "follows a map of depths"));
  CHECK(says(problem(unet_file(folder, prefix, 12), "unet"), "takes 12 channels in"));
  const FileTensor zero = file_tensor("F32", Shape{1, 1024}, std::vector<float>(1024));
  FileTensors others{{prefix + "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", zero},
                     {prefix + "label_emb.0.0.weight", zero}};
  CHECK(says(problem(unet_file(folder, prefix, 4, others), "unet"),
             "is unCLIP of Stable Diffusion 2.x, which draws from a picture, which is not read"));
  others[prefix + "input_blocks.1.1.time_stack.0.attn1.to_q.weight"] = zero;
  CHECK(says(problem(unet_file(folder, prefix, 8, others), "unet"),
             "is a Stable Video Diffusion model, which makes a video of a picture, which is not read"));
  CHECK(says(problem(stable_diffusion_file("refiner"), "text_encoder"),
             "is Stable Diffusion XL refiner without its text_encoder"));
  CHECK(says(problem(stable_diffusion_model("sd15") / "vae/diffusion_pytorch_model.safetensors", "unet"),
             "does not hold a Stable Diffusion UNet"));
  // What is given as a component and is another thing is named.
  const auto given = [&](const char* name, const char* component) {
    write_tensors(folder.path() / "given", {{name, file_tensor("F32", Shape{2, 2}, std::vector<float>(4))}});
    return problem(folder.path() / "given", component);
  };
  CHECK(says(given("lora_unet_proj_in.lora_up.weight", "unet"),
             "is a LoRA, which is not read: give a UNet of Stable Diffusion 1.x, 2.x or XL"));
  CHECK(says(given("control_model.input_blocks.0.0.weight", "unet"), "is a ControlNet, which is not read"));
  CHECK(says(given("decoder.layers.2.conv.0.weight", "vae"),
             "is a tiny autoencoder (TAESD), which is not read: give a VAE of Stable Diffusion"));
  CHECK(says(given("joint_blocks.0.x_block.attn.qkv.weight", "text_encoder"),
             "is a Stable Diffusion 3 model, which is not read: give a text encoder"));
  for (const auto& [component, words] :
       {std::pair("unet", "UNet"), {"vae", "VAE"}, {"text_encoder", "text encoder"}})
    CHECK(says(given("features.0.weight", component),
               std::string("does not hold a Stable Diffusion ") + words));
  // Three matrices in one, of rows that three does not divide.
  FileTensors broken;
  broken["cond_stage_model.model.ln_final.weight"] = file_tensor("F32", Shape{2}, std::vector<float>(2));
  broken["cond_stage_model.model.transformer.resblocks.0.attn.in_proj_weight"] =
      file_tensor("F32", Shape{4, 2}, std::vector<float>(8));
  const ComponentWeights text(unet_file(folder, prefix, 4, broken), "text_encoder");
  CHECK_THROWS_WITH(text.find("text_model.encoder.layers.0.self_attn.k_proj.weight"),
                    Catch::Contains("its 4 rows are not 3 equal parts"));
  CHECK_THROWS_WITH(text.find("text_model.encoder.layers.1.self_attn.k_proj.weight"),
                    Catch::Contains("is missing"));
}

TEST_CASE("a VAE alone in the authors' names gives its weights, with a prefix or without") {
  const std::string prefix = "first_stage_model.";
  const FileTensors whole = stored_tensors(stable_diffusion_file("sdxl"));
  const ComponentWeights folder(stable_diffusion_model("sdxl") / "vae", "vae");
  for (const std::string other : {"", "first_stage_model.", "vae."}) {
    INFO("prefix '" << other << "'");
    FileTensors tensors;
    for (const auto& [name, tensor] : whole)
      if (name.starts_with(prefix)) tensors[other + name.substr(prefix.size())] = tensor;
    const TemporaryFolder place;
    write_tensors(place.path() / "vae", tensors);
    check_same_weights(ComponentWeights(place.path() / "vae", "vae"), folder);
  }
}

TEST_CASE("a text encoder alone gives its weights under each program's names and prefixes") {
  struct Encoder {
    std::string model, component, named;
    std::vector<std::string> prefixes;
  };
  const std::vector<Encoder> encoders{
      {"sdxl",
       "text_encoder",
       "conditioner.embedders.0.transformer.",
       {"", "cond_stage_model.transformer.", "conditioner.embedders.0.transformer.",
        "text_encoders.clip_l.transformer.", "text_encoders.clip_l.", "clip_l.transformer.", "clip_l.",
        "text_encoder."}},
      {"sdxl",
       "text_encoder_2",
       "conditioner.embedders.1.model.",
       {"", "conditioner.embedders.1.model.", "conditioner.embedders.0.model."}},
      {"sd21",
       "text_encoder",
       "cond_stage_model.model.",
       {"", "cond_stage_model.model.", "conditioner.embedders.0.model."}},
  };
  const TemporaryFolder place;
  const std::filesystem::path file = place.path() / "file";
  for (const Encoder& encoder : encoders) {
    const std::filesystem::path folder = stable_diffusion_model(encoder.model) / encoder.component;
    const ComponentWeights expected_weights(folder, encoder.component);
    for (const std::string& prefix : encoder.prefixes) {
      INFO(encoder.model << " " << encoder.component << " prefix '" << prefix << "'");
      write_tensors(file, component_of(encoder.model, encoder.named, prefix));
      const ComponentWeights weights(file, encoder.component);
      check_same_weights(weights, expected_weights);
      // The authors' files of 2.x have one layer more than is run.
      const auto config = text::ClipConfig::load(folder / "config.json");
      check_agreement(weights, config, folder / "config.json");
      CHECK(unread_tensors(weights, config).empty());
    }
  }
  // The second one under transformers' names.
  FileTensors second;
  for (const auto& [name, tensor] : stored_tensors(stable_diffusion_model("sdxl") / "text_encoder_2"))
    second["clip_g.transformer." + name] = tensor;
  write_tensors(file, second);
  check_same_weights(ComponentWeights(file, "text_encoder_2"),
                     ComponentWeights(stable_diffusion_model("sdxl") / "text_encoder_2", "text_encoder_2"));
}

TEST_CASE("tensors that a config does not describe are named in the authors' names, too") {
  const std::string unet = "model.diffusion_model.", within = unet + "input_blocks.1.1.transformer_blocks.0.";
  for (const Expected& one : expected)  // nothing of a whole model
    for (const auto& [component, naming] : one.components) {
      INFO(one.name << " " << component);
      const ComponentWeights weights(stable_diffusion_file(one.name), component);
      const std::filesystem::path config = stable_diffusion_model(one.name) / component / "config.json";
      if (component == "unet")
        CHECK(unread_tensors(weights, stable_diffusion::UNetConfig::load(config)).empty());
      else if (component == "vae")
        CHECK(unread_tensors(weights, vae::AutoencoderConfig::load(config)).empty());
      else
        CHECK(unread_tensors(weights, text::ClipConfig::load(config)).empty());
    }
  FileTensors tensors = stored_tensors(stable_diffusion_file("sd15"));
  const FileTensor any = tensors.at(within + "attn1.to_out.0.bias");
  const std::vector<std::string> more{within + "attn1.to_q.bias", within + "attn1.to_q.lora_A.weight",
                                      within + "attn2.to_k_ip.weight", within + "fuser.linear.weight",
                                      unet + "middle_block.1.nonsense.weight"};
  for (const std::string& name : more) tensors[name] = any;
  const TemporaryFolder place;
  const std::filesystem::path file = place.path() / "file", folder = stable_diffusion_model("sd15");
  write_tensors(file, tensors);
  CHECK(unread_tensors(ComponentWeights(file, "unet"),
                       stable_diffusion::UNetConfig::load(folder / "unet/config.json")) == more);
  // A VAE's layers.
  const ComponentWeights vae(stable_diffusion_file("sd21"), "vae");
  auto config = vae::AutoencoderConfig::load(stable_diffusion_model("sd21") / "vae/config.json");
  REQUIRE(config.layers_per_block == 2);
  config.layers_per_block = 1;
  const std::vector<std::string> layers = unread_tensors(vae, config);
  CHECK(std::ranges::find(layers, "first_stage_model.decoder.up.0.block.2.conv1.weight") != layers.end());
  CHECK(std::ranges::find(layers, "first_stage_model.encoder.down.0.block.1.conv1.weight") != layers.end());
  CHECK(std::ranges::find(layers, "first_stage_model.decoder.up.0.block.1.conv1.weight") == layers.end());
}

TEST_CASE("a tensor that an original file lacks is named as the file would have it") {
  const std::map<std::string, std::string> prefixes{{"unet", "model.diffusion_model."},
                                                    {"vae", "first_stage_model."},
                                                    {"text_encoder", "cond_stage_model.model."}};
  const TemporaryFolder place;
  const std::filesystem::path file = place.path() / "file";
  for (const std::string model : {"sd21", "sdxl"}) {
    const FileTensors whole = stored_tensors(stable_diffusion_file(model));
    for (const auto& [component, prefix] : prefixes) {
      if (model == "sdxl" && component != "unet") continue;
      const ComponentWeights weights(stable_diffusion_file(model), component);
      // Of each third one, so that the numbers of blocks stay as they are.
      std::size_t i = 0;
      FileTensors rest = whole;
      std::vector<std::pair<std::string, std::string>> lacking;
      for (const std::string& name : weights.names()) {
        const std::string stored = weights.stored_name(name);
        if (!stored.ends_with(".bias") || ++i % 3) continue;
        lacking.emplace_back(name, stored);
        rest.erase(stored);
      }
      REQUIRE(lacking.size() > 3);
      write_tensors(file, rest);
      const ComponentWeights cut(file, component);
      for (const auto& [name, stored] : lacking)
        CHECK_THROWS_WITH(cut.find(name), Catch::Contains("tensor '" + stored + "': is missing"));
    }
    // Every name of the UNet leads back to itself, convolutions that change the resolution among them.
    const ComponentWeights unet(stable_diffusion_file(model), "unet");
    for (const std::string& name : unet.names()) {
      const auto attends = [&](std::int64_t level) {
        return unet.blocks("up_blocks." + std::to_string(level) + ".attentions.") > 0;
      };
      const auto theirs =
          stable_diffusion::ldm_unet_name(name, unet.blocks("down_blocks.0.resnets."), attends);
      REQUIRE(theirs);
      CHECK("model.diffusion_model." + *theirs == unet.stored_name(name));
    }
  }
}

TEST_CASE("a VAE's attention is found under the names of older releases") {
  const std::filesystem::path path = stable_diffusion_model("sd15") / "vae";
  const io::ComponentSource stored(path);
  const ComponentWeights weights(path, "vae");
  const std::vector<std::pair<std::string, std::string>> names{
      {"query", "to_q"}, {"key", "to_k"}, {"value", "to_v"}, {"proj_attn", "to_out.0"}};
  for (const std::string half : {"encoder", "decoder"})
    for (const auto& [older, newer] : names) {
      const std::string place = half + ".mid_block.attentions.0.";
      REQUIRE(stored.contains(place + older + ".weight"));
      CHECK(std::ranges::equal(weights.find(place + newer + ".weight").bytes,
                               stored.find(place + older + ".weight").bytes));
      CHECK(std::ranges::equal(weights.find(place + newer + ".bias").bytes,
                               stored.find(place + older + ".bias").bytes));
    }
}

TEST_CASE("inspect names a single file's model, its parts and whose names they have") {
  const cli::FileFacts facts = cli::facts_of(io::ComponentSource(stable_diffusion_file("sdxl")));
  CHECK(facts.model == "Stable Diffusion XL");
  CHECK(facts.problem.empty());
  REQUIRE(facts.parts.size() == 4);
  std::map<std::string, std::pair<std::string, std::string>> parts;
  for (const cli::PartFacts& part : facts.parts) parts[part.part] = {part.names, part.prefix};
  CHECK(parts["unet"] == std::pair<std::string, std::string>("original", "model.diffusion_model."));
  CHECK(parts["vae"] == std::pair<std::string, std::string>("original", "first_stage_model."));
  CHECK(parts["text_encoder"] ==
        std::pair<std::string, std::string>("diffusers", "conditioner.embedders.0.transformer."));
  CHECK(parts["text_encoder_2"] ==
        std::pair<std::string, std::string>("OpenCLIP", "conditioner.embedders.1.model."));
  const ComponentWeights folder(stable_diffusion_model("sdxl") / "unet", "unet");
  CHECK(facts.parts[0].formats.at("f16").bytes == static_cast<std::int64_t>(folder.bytes_to_take()));
  CHECK(says(cli::in_text(facts), "safetensors: Stable Diffusion XL\nunet: original names"));

  const TemporaryFolder other;
  const cli::FileFacts pix2pix = cli::facts_of(io::ComponentSource(unet_file(other, "", 8)));
  CHECK(says(pix2pix.problem, "is InstructPix2Pix"));
  CHECK(cli::facts_of(io::ComponentSource(unet_file(other, "", 9))).model ==
        "Stable Diffusion 1.x, inpainting");
}
