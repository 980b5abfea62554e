// Configs that single files tell by their tensors: the published models at full size, from shapes alone; and
// the tiny files against their folders' configs.
#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sampling/scheduler_config.hpp>
#include <stable_diffusion/configs_of_tensors.hpp>
#include <support/stable_diffusion.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>

using namespace precast;
using namespace precast::testing;
using stable_diffusion::ComponentWeights, stable_diffusion::UNetConfig;

namespace {

/// Tensors of so many channels by name, one value wide wherever that tells nothing, as ldm names them.
class UNetShapes {
 public:
  UNetShapes(std::int64_t in_channels, std::int64_t context, bool linear)
      : context_(context), linear_(linear) {
    add("input_blocks.0.0.weight", {1, in_channels});
    add("out.2.weight", {4, 1});
    add("time_embed.0.weight", {1280, 1});
  }
  /// Level after level, two residual blocks in each; `depth` 0: without a transformer.
  void level(std::int64_t channels, std::int64_t depth, bool last) {
    for (int layer = 0; layer < 2; ++layer, ++number_) {
      const std::string block = "input_blocks." + std::to_string(number_) + ".";
      add(block + "0.out_layers.3.weight", {channels, 1});
      transformer(block + "1.", depth);
    }
    if (!last) add("input_blocks." + std::to_string(number_++) + ".0.op.weight", {channels, 1});
  }
  void middle_and_up(std::initializer_list<std::int64_t> depths) {
    transformer("middle_block.1.", *depths.begin());
    int number = 0;
    for (const std::int64_t depth : depths)
      for (int layer = 0; layer < 3; ++layer)
        transformer("output_blocks." + std::to_string(number++) + ".1.", depth);
  }
  void add(const std::string& name, std::initializer_list<std::int64_t> sizes) {
    const Shape shape(sizes);
    tensors_["model.diffusion_model." + name] = {
        "F16", shape, std::string(static_cast<std::size_t>(shape.elements()) * 2, '\0')};
  }
  void transformer(const std::string& place, std::int64_t depth) {
    if (depth == 0) return;
    add(place + "norm.weight", {1});
    if (linear_)
      add(place + "proj_in.weight", {2, 2});
    else
      add(place + "proj_in.weight", {2, 2, 1, 1});
    for (std::int64_t i = 0; i < depth; ++i)
      add(place + "transformer_blocks." + std::to_string(i) + ".attn2.to_k.weight", {1, context_});
  }
  UNetConfig config(const TemporaryFolder& folder) const {
    write_tensors(folder.path() / "file", tensors_);
    return stable_diffusion::unet_config(ComponentWeights(folder.path() / "file", "unet"));
  }

 private:
  std::int64_t context_;
  bool linear_;
  int number_ = 1;
  FileTensors tensors_;
};

/// A level of two layers, with as many blocks in each of its transformers; without: 0.
struct Level {
  std::int64_t channels, heads, depth;
};

void check_levels(const UNetConfig& config, const std::vector<Level>& expected) {
  REQUIRE(config.levels.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("level " << i);
    CHECK(config.levels[i].channels == expected[i].channels);
    CHECK(config.levels[i].layers == 2);
    CHECK(config.levels[i].attention_down == (expected[i].depth > 0));
    CHECK(config.levels[i].attention_up == (expected[i].depth > 0));
    CHECK(config.levels[i].heads == expected[i].heads);
    CHECK(config.levels[i].depths_down == std::vector(2, expected[i].depth));
    CHECK(config.levels[i].depths_up == std::vector(3, expected[i].depth));
  }
}

}  // namespace

TEST_CASE("the configs of Stable Diffusion 1, 2, XL and its refiner are told by the shapes of tensors") {
  const TemporaryFolder folder;
  // Of 2.x as it is published, and as stable-diffusion.cpp writes it.
  for (const auto& [second, linear] : {std::pair(false, false), {true, true}, {true, false}}) {
    UNetShapes shapes(second ? 4 : 9, second ? 1024 : 768, linear);
    for (const std::int64_t channels : {320, 640, 1280}) shapes.level(channels, 1, false);
    shapes.level(1280, 0, true);
    shapes.middle_and_up({0, 1, 1, 1});
    shapes.transformer("middle_block.1.", 1);
    const UNetConfig config = shapes.config(folder);
    CHECK(config.in_channels == (second ? 4 : 9));
    CHECK(config.out_channels == 4);
    CHECK(config.context_width == (second ? 1024 : 768));
    CHECK(config.linear_projection == linear);
    CHECK_FALSE(config.text_time);
    CHECK(config.norm_groups == 32);
    const auto heads = [version_2 = second](std::int64_t channels) { return version_2 ? channels / 64 : 8; };
    check_levels(
        config, {{320, heads(320), 1}, {640, heads(640), 1}, {1280, heads(1280), 1}, {1280, heads(1280), 0}});
    CHECK(config.mid_block_depth == 1);
  }
  UNetShapes xl(4, 2048, true);
  xl.level(320, 0, false);
  xl.level(640, 2, false);
  xl.level(1280, 10, true);
  xl.middle_and_up({10, 2, 0});
  xl.add("label_emb.0.0.weight", {1280, 2816});
  const UNetConfig base = xl.config(folder);
  CHECK(base.text_time);
  CHECK(base.text_time_width == 2816);
  CHECK(base.time_id_channels == 256);
  CHECK(base.context_width == 2048);
  check_levels(base, {{320, 5, 0}, {640, 10, 2}, {1280, 20, 10}});
  CHECK(base.mid_block_depth == 10);

  UNetShapes refiner(4, 1280, true);
  refiner.level(384, 0, false);
  refiner.level(768, 4, false);
  refiner.level(1536, 4, false);
  refiner.level(1536, 0, true);
  refiner.middle_and_up({0, 4, 4, 0});
  refiner.transformer("middle_block.1.", 4);
  refiner.add("label_emb.0.0.weight", {1536, 2560});
  check_levels(refiner.config(folder), {{384, 6, 0}, {768, 12, 4}, {1536, 24, 4}, {1536, 24, 0}});
  CHECK(refiner.config(folder).mid_block_depth == 4);
}

TEST_CASE("a single file's scheduler is that of the published models of its kind, and what its tensors say") {
  using sampling::PredictionType;
  using stable_diffusion::Kind, stable_diffusion::scheduler_config, stable_diffusion::sample_size;
  const auto of = [](Kind kind, std::int64_t channels, bool predicts_v = false, bool all_noise = false) {
    stable_diffusion::WeightFile file{};
    file.kind = kind;
    file.in_channels = channels;
    file.predicts_v = predicts_v;
    file.has_no_signal_at_last = all_noise;
    const nlohmann::json json = scheduler_config(file);
    return json.at("_class_name").get<std::string>() + " " + json.value("prediction_type", "epsilon") + " " +
           json.value("timestep_spacing", "leading") +
           (json.value("rescale_betas_zero_snr", false) ? " 0" : "");
  };
  CHECK(of(Kind::v1, 4) == "PNDMScheduler epsilon leading");
  CHECK(of(Kind::v1, 9) == "PNDMScheduler epsilon leading");
  CHECK(of(Kind::v2, 4) == "DDIMScheduler v_prediction leading");
  CHECK(of(Kind::v2, 9) == "PNDMScheduler epsilon leading");  // 2-inpainting is made of 2-base
  CHECK(of(Kind::xl, 4) == "EulerDiscreteScheduler epsilon leading");
  CHECK(of(Kind::xl_refiner, 4) == "EulerDiscreteScheduler epsilon leading");
  CHECK(of(Kind::xl, 4, true) == "EulerDiscreteScheduler v_prediction leading");
  CHECK(of(Kind::xl, 4, true, true) == "EulerDiscreteScheduler v_prediction leading 0");
  CHECK(of(Kind::v1, 4, true, true) == "DDIMScheduler v_prediction leading 0");
  CHECK(sample_size(Kind::v1, PredictionType::epsilon) == 64);
  CHECK(sample_size(Kind::v2, PredictionType::v_prediction) == 96);
  CHECK(sample_size(Kind::v2, PredictionType::epsilon) == 64);
  CHECK(sample_size(Kind::xl, PredictionType::epsilon) == 128);
  CHECK(sample_size(Kind::xl_refiner, PredictionType::epsilon) == 128);
}

TEST_CASE("a transformer without its first layer, and a block of an absurd number, are no model's") {
  const TemporaryFolder folder;
  UNetShapes lacking(4, 768, false);
  lacking.level(320, 0, true);
  lacking.add("middle_block.1.norm.weight", {1});
  lacking.add("middle_block.1.transformer_blocks.0.attn2.to_k.weight", {1, 768});
  CHECK_THROWS_WITH(lacking.config(folder),
                    Catch::Contains("lacks model.diffusion_model.middle_block.1.proj_in.weight"));
  UNetShapes absurd(4, 768, false);
  absurd.level(320, 0, true);
  absurd.transformer("middle_block.1.", 1);
  absurd.add("middle_block.1.transformer_blocks.9223372036854775807.attn2.to_k.weight", {1, 768});
  CHECK(absurd.config(folder).mid_block_depth == 1);
}

TEST_CASE("tiny single files agree with their folders' configs, and with no other's") {
  for (const std::string name : {"sd15", "sd21", "sdxl", "refiner"}) {
    INFO(name);
    const ComponentWeights unet(stable_diffusion_model(name + ".safetensors"), "unet");
    const auto config_of = [](const std::string& folder) {
      return stable_diffusion_model(folder) / "unet/config.json";
    };
    stable_diffusion::check_agreement(unet, UNetConfig::load(config_of(name)), config_of(name));
    const std::string other = name == "sd15" ? "lcm" : "sd15";
    CHECK_THROWS_WITH(
        stable_diffusion::check_agreement(unet, UNetConfig::load(config_of(other)), config_of(other)),
        Catch::Contains("they belong to different models"));
    // Widths that no published model has do not say how many heads there are.
    CHECK_THROWS_WITH(stable_diffusion::unet_config(unet), Catch::Contains("it is not known how many heads"));
  }
}

TEST_CASE("the configs of text encoders and VAEs are told by the shapes of tensors") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "file";
  const auto bytes = [](std::initializer_list<std::int64_t> sizes) {
    const Shape shape(sizes);
    return FileTensor{"F8_E4M3", shape, std::string(static_cast<std::size_t>(shape.elements()), '\0')};
  };
  FileTensors unet{{"model.diffusion_model.input_blocks.0.0.weight", bytes({1, 4})},
                   {"model.diffusion_model.time_embed.0.weight", bytes({1, 1})}};
  FileTensors refiner = unet;
  refiner["model.diffusion_model.label_emb.0.0.weight"] = bytes({1, 1});
  const auto openclip = [&](FileTensors tensors, const std::string& prefix, const char* component) {
    tensors[prefix + "token_embedding.weight"] = bytes({49408, 128});
    tensors[prefix + "positional_embedding"] = bytes({77, 128});
    tensors[prefix + "ln_final.weight"] = bytes({128});
    tensors[prefix + "text_projection"] = bytes({128, 96});
    for (const char* layer : {"0", "1", "2"})
      tensors[prefix + "transformer.resblocks." + layer + ".mlp.c_fc.weight"] = bytes({256, 128});
    write_tensors(file, tensors);
    const ComponentWeights weights(file, component);
    return stable_diffusion::clip_config(weights, weights.file()->kind);
  };
  const text::ClipConfig second = openclip(refiner, "conditioner.embedders.0.model.", "text_encoder_2");
  CHECK(second.hidden_size == 128);
  CHECK(second.intermediate_size == 256);
  CHECK(second.num_hidden_layers == 3);
  CHECK(second.num_attention_heads == 2);
  CHECK(second.projects);
  CHECK(second.projection_dim == 96);
  CHECK(second.hidden_act == ActivationFunction::gelu_erf);
  const text::ClipConfig of_v2 = openclip(unet, "cond_stage_model.model.", "text_encoder");
  CHECK(of_v2.num_hidden_layers == 2);
  CHECK_FALSE(of_v2.projects);
  // A file that was written from a folder has the layers that are run alone; a whole OpenCLIP has 24.
  for (const auto& [stored, run] : {std::pair(3, 3), {23, 23}, {24, 23}}) {
    CAPTURE(stored);
    FileTensors tensors = unet;
    const std::string prefix = "cond_stage_model.model.";
    tensors[prefix + "token_embedding.weight"] = bytes({49408, 128});
    tensors[prefix + "positional_embedding"] = bytes({77, 128});
    tensors[prefix + "ln_final.weight"] = bytes({128});
    for (int layer = 0; layer < stored; ++layer)
      tensors[prefix + "transformer.resblocks." + std::to_string(layer) + ".mlp.c_fc.weight"] =
          bytes({256, 128});
    write_tensors(file, tensors);
    const ComponentWeights weights(file, "text_encoder");
    text::ClipConfig config = stable_diffusion::clip_config(weights, weights.file()->kind);
    CHECK(config.num_hidden_layers == run);
    // A folder's config says how many are run: all, or all but one.
    for (const int layers : {stored, stored - 1}) {
      config.num_hidden_layers = layers;
      CHECK_NOTHROW(stable_diffusion::check_agreement(weights, config, "config.json"));
    }
    for (const int layers : {stored + 1, stored - 2}) {
      config.num_hidden_layers = layers;
      CHECK_THROWS_WITH(stable_diffusion::check_agreement(weights, config, "config.json"),
                        Catch::Contains("a number of layers of " + std::to_string(stored)));
    }
  }

  // With transformers' names, as stable-diffusion.cpp writes them: the width of the UNet's text tells 2.x.
  const auto renamed = [&](const std::string& prefix, const char* component, std::int64_t context) {
    FileTensors tensors = unet;
    const std::string model = prefix + "text_model.";
    tensors["model.diffusion_model.input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight"] =
        bytes({1, context});
    tensors[model + "embeddings.token_embedding.weight"] = bytes({49408, 128});
    tensors[model + "embeddings.position_embedding.weight"] = bytes({77, 128});
    tensors[model + "final_layer_norm.weight"] = bytes({128});
    tensors[model + "text_projection"] = bytes({128, 96});
    for (const char* layer : {"0", "1", "2"})
      tensors[model + "encoder.layers." + layer + ".mlp.fc1.weight"] = bytes({256, 128});
    write_tensors(file, tensors);
    const ComponentWeights weights(file, component);
    return stable_diffusion::clip_config(weights, weights.file()->kind);
  };
  const text::ClipConfig first = renamed("cond_stage_model.transformer.", "text_encoder", 768);
  CHECK(first.num_hidden_layers == 3);
  CHECK(first.hidden_act == ActivationFunction::quick_gelu);
  const text::ClipConfig renamed_v2 = renamed("cond_stage_model.transformer.", "text_encoder", 1024);
  CHECK(renamed_v2.num_hidden_layers == 2);
  CHECK(renamed_v2.hidden_act == ActivationFunction::gelu_erf);
  CHECK_FALSE(renamed_v2.projects);
  const text::ClipConfig renamed_second = renamed("cond_stage_model.1.transformer.", "text_encoder_2", 2048);
  CHECK(renamed_second.num_hidden_layers == 3);
  CHECK(renamed_second.hidden_act == ActivationFunction::gelu_erf);
  CHECK(renamed_second.projects);
  CHECK(renamed_second.projection_dim == 96);

  const auto autoencoder = [&](std::int64_t narrowest) {
    FileTensors tensors = unet;
    const std::string prefix = "first_stage_model.";
    tensors[prefix + "decoder.conv_in.weight"] = bytes({1, 4});
    tensors[prefix + "decoder.mid.attn_1.q.weight"] = bytes({1, 1, 1, 1});
    tensors[prefix + "quant_conv.weight"] = bytes({8, 8});
    std::int64_t level = 0;
    for (const std::int64_t channels : {narrowest, std::int64_t{256}, std::int64_t{512}}) {
      const std::string place = prefix + "encoder.down." + std::to_string(level++) + ".block.";
      tensors[place + "0.conv2.weight"] = bytes({channels, 1});
      tensors[place + "1.conv2.weight"] = bytes({channels, 1});
    }
    write_tensors(file, tensors);
    const ComponentWeights weights(file, "vae");
    return stable_diffusion::autoencoder_config(weights, weights.file()->kind);
  };
  const vae::AutoencoderConfig vae = autoencoder(128);
  CHECK(vae.block_out_channels == std::vector<std::int64_t>{128, 256, 512});
  CHECK(vae.layers_per_block == 2);
  CHECK(vae.latent_channels == 4);
  CHECK(vae.use_quant_conv);
  CHECK_FALSE(vae.use_post_quant_conv);
  CHECK(vae.mid_block_add_attention);
  CHECK(vae.scaling_factor == 0.18215);
  CHECK_THROWS_WITH(autoencoder(100), Catch::Contains("it is not known how they are normed"));
  // In a file of its own it is used as the model's kind says.
  autoencoder(128);
  FileTensors alone;
  for (const auto& [name, tensor] : stored_tensors(file))
    if (name.starts_with("first_stage_model.")) alone[name] = tensor;
  alone["first_stage_model.decoder.mid.block_1.norm1.weight"] = bytes({1});
  const std::filesystem::path vae_file = folder.path() / "vae";
  write_tensors(vae_file, alone);
  for (const auto kind : {stable_diffusion::Kind::v1, stable_diffusion::Kind::xl}) {
    const vae::AutoencoderConfig config =
        stable_diffusion::autoencoder_config(ComponentWeights(vae_file, "vae"), kind);
    CHECK(config.block_out_channels == std::vector<std::int64_t>{128, 256, 512});
    CHECK(config.force_upcast == (kind == stable_diffusion::Kind::xl));
    CHECK(config.scaling_factor == (config.force_upcast ? 0.13025 : 0.18215));
  }
  unet["model.diffusion_model.label_emb.0.0.weight"] = bytes({1, 1});
  CHECK(autoencoder(128).scaling_factor == 0.13025);
}
