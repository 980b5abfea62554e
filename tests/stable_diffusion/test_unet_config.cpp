// Configs of UNets: those of released models, diffusers' defaults, and what is wrong with bad ones.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <stable_diffusion/golden_unets.hpp>
#include <stable_diffusion/released_unets.hpp>
#include <stable_diffusion/unet.hpp>
#include <stable_diffusion/unet_tensors.hpp>

#include <precast/error.hpp>
#include <precast/io/config.hpp>

using namespace precast;
using namespace precast::testing;
using stable_diffusion::UNetConfig;
using Json = nlohmann::json;

namespace {

UNetConfig config_of(const Json& json) { return UNetConfig::from(io::Config("unet/config.json", json)); }

std::string complaint(const Json& json) {
  try {
    config_of(json);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// A small config with every key that is looked at.
Json whole() {
  return {{"_class_name", "UNet2DConditionModel"},
          {"in_channels", 4},
          {"out_channels", 4},
          {"sample_size", 8},
          {"block_out_channels", {8, 16}},
          {"down_block_types", {"CrossAttnDownBlock2D", "DownBlock2D"}},
          {"up_block_types", {"UpBlock2D", "CrossAttnUpBlock2D"}},
          {"mid_block_type", "UNetMidBlock2DCrossAttn"},
          {"layers_per_block", {1, 2}},
          {"attention_head_dim", {2, 4}},
          {"transformer_layers_per_block", {1, 2}},
          {"cross_attention_dim", {12, 12}},
          {"norm_num_groups", 4},
          {"norm_eps", 1e-5},
          {"act_fn", "silu"},
          {"use_linear_projection", true},
          {"upcast_attention", false},
          {"flip_sin_to_cos", true},
          {"freq_shift", 0},
          {"time_embedding_type", "positional"},
          {"time_embedding_dim", 24},
          {"time_cond_proj_dim", 10},
          {"addition_embed_type", "text_time"},
          {"addition_time_embed_dim", 6},
          {"projection_class_embeddings_input_dim", 40},
          {"resnet_time_scale_shift", "default"},
          {"attention_type", "default"},
          {"only_cross_attention", false},
          {"conv_in_kernel", 3},
          {"conv_out_kernel", 3},
          {"downsample_padding", 1},
          {"mid_block_scale_factor", 1.0},
          {"num_attention_heads", nullptr}};
}

}  // namespace

TEST_CASE("released UNets have the parameters that they are known to have") {
  for (const auto& [name, json, parameters] : released_unets()) {
    INFO(name);
    CHECK(stable_diffusion::unet_parameters(config_of(json)) == parameters);
  }
}

TEST_CASE("tiny UNets have the parameters that diffusers counts") {
  const Golden golden("unets");
  for (const GoldenUNet& unet : golden_unets(golden)) {
    INFO(unet.name());
    CHECK(stable_diffusion::unet_parameters(unet.config()) == unet.facts().at("parameters"));
  }
}

TEST_CASE("a UNet's config has diffusers' defaults") {
  const UNetConfig config = config_of(Json::object());
  CHECK(config.in_channels == 4);
  CHECK(config.out_channels == 4);
  REQUIRE(config.levels.size() == 4);
  const std::vector<std::int64_t> channels{320, 640, 1280, 1280};
  for (std::size_t i = 0; i < 4; ++i) {
    const stable_diffusion::UNetLevel& level = config.levels[i];
    CHECK(level.channels == channels[i]);
    CHECK(level.layers == 2);
    CHECK(level.heads == 8);
    CHECK(level.depths_down == std::vector<std::int64_t>(2, 1));
    CHECK(level.depths_up == std::vector<std::int64_t>(3, 1));
    CHECK(level.attention_down == (i < 3));
    CHECK(level.attention_up == (i < 3));
  }
  CHECK(config.context_width == 1280);
  CHECK(config.time_width == 1280);
  CHECK(config.mid_block == UNetConfig::MidBlockType::attention);
  CHECK(!config.linear_projection);
  CHECK(config.norm_groups == 32);
  CHECK(config.norm_epsilon == 1e-5);
  CHECK(config.cosines_first);
  CHECK(config.frequency_shift == 0);
  CHECK(config.guidance_channels == 0);
  CHECK(!config.text_time);
  CHECK(!config.upcast_attention);
  CHECK(!config.sample_size);
}

TEST_CASE("a UNet's config is read as it is written") {
  REQUIRE(complaint(whole()) == "");
  const UNetConfig config = config_of(whole());
  CHECK(config.sample_size == 8);
  CHECK(config.time_width == 24);
  CHECK(config.guidance_channels == 10);
  CHECK(config.text_time);
  CHECK(config.time_id_channels == 6);
  CHECK(config.text_time_width == 40);
  CHECK(config.context_width == 12);
  CHECK(config.levels[1].layers == 2);
  CHECK(config.levels[1].depths_down == std::vector<std::int64_t>{2, 2});
  CHECK(config.levels[1].depths_up == std::vector<std::int64_t>{2, 2, 2});
  CHECK(config.levels[0].attention_up);
  CHECK(!config.levels[1].attention_up);
  Json json = whole();
  json["mid_block_type"] = nullptr;
  CHECK(config_of(json).mid_block == UNetConfig::MidBlockType::absent);
  json["mid_block_type"] = "UNetMidBlock2D";
  CHECK(config_of(json).mid_block == UNetConfig::MidBlockType::residual);
  json["sample_size"] = {16, 16};
  CHECK(config_of(json).sample_size == 16);
  json["only_cross_attention"] = {false, false};
  json["act_fn"] = "swish";
  json["class_embed_type"] = nullptr;
  CHECK(complaint(json) == "");
  json["down_block_types"] = {"UNetResDownBlock2D", "UNetResCrossAttnDownBlock2D"};
  CHECK(!config_of(json).levels[0].attention_down);
  CHECK(config_of(json).levels[1].attention_down);
}

TEST_CASE("a value that no UNet here has is one line that names its key") {
  using List = std::vector<int>;
  using Names = std::vector<std::string>;
  const std::vector<std::pair<std::string, Json>> bad{
      {"_class_name", "UNet2DModel"},
      {"_class_name", nullptr},
      {"_diffusers_version", 0.6},
      {"_diffusers_version", "early"},
      {"_diffusers_version", nullptr},
      {"dropout", "low"},
      {"dropout", nullptr},
      {"dropout", 2},
      {"mid_block_only_cross_attention", "no"},
      {"addition_embed_type_num_heads", "64"},
      {"in_channels", 0},
      {"in_channels", "4"},
      {"in_channels", 1e300},
      {"out_channels", -4},
      {"out_channels", 2.5},
      {"sample_size", 0},
      {"sample_size", List{8}},
      {"sample_size", List{8, 16}},
      {"sample_size", "large"},
      {"block_out_channels", 8},
      {"block_out_channels", List{}},
      {"block_out_channels", List{8, -16}},
      {"block_out_channels", List(9, 8)},
      {"block_out_channels", List{8, 1000000000}},
      {"down_block_types", Names{"CrossAttnDownBlock2D"}},
      {"down_block_types", Names{"CrossAttnDownBlock2D", "ResnetDownsampleBlock2D"}},
      {"down_block_types", Names{"CrossAttnUpBlock2D", "DownBlock2D"}},
      {"down_block_types", "DownBlock2D"},
      {"up_block_types", Names{"UpBlock2D", "UpBlock2D", "UpBlock2D"}},
      {"up_block_types", Names{"UpBlock2D", "SimpleCrossAttnUpBlock2D"}},
      {"up_block_types", List{1, 2}},
      {"mid_block_type", "UNetMidBlock2DSimpleCrossAttn"},
      {"mid_block_type", 7},
      {"layers_per_block", 0},
      {"layers_per_block", List{1}},
      {"layers_per_block", List{1, 2, 3}},
      {"layers_per_block", 1000000},
      {"attention_head_dim", 0},
      {"attention_head_dim", 9},
      {"attention_head_dim", List{2, 17}},
      {"attention_head_dim", List{2, 4, 8}},
      {"attention_head_dim", Names{"2", "4"}},
      {"num_attention_heads", 4},
      {"transformer_layers_per_block", -1},
      {"transformer_layers_per_block", List{1}},
      {"transformer_layers_per_block", Json{List{1, 1}, List{2, 2}}},
      {"transformer_layers_per_block", Names{"1", "2"}},
      {"reverse_transformer_layers_per_block", 0},
      {"reverse_transformer_layers_per_block", 1},
      {"reverse_transformer_layers_per_block", List{}},
      {"reverse_transformer_layers_per_block", List{2}},
      {"reverse_transformer_layers_per_block", Json{List{1, 1}, List{2}}},
      {"reverse_transformer_layers_per_block", Json{List{1, 1, 1}, List{1, 65}}},
      {"cross_attention_dim", 0},
      {"cross_attention_dim", List{12}},
      {"cross_attention_dim", List{12, 14}},
      {"norm_num_groups", 0},
      {"norm_num_groups", 5},
      {"norm_eps", 0},
      {"norm_eps", "small"},
      {"act_fn", "gelu"},
      {"act_fn", 3},
      {"use_linear_projection", 1},
      {"upcast_attention", "no"},
      {"flip_sin_to_cos", "yes"},
      {"freq_shift", 2},
      {"freq_shift", -1},
      {"freq_shift", 0.5},
      {"time_embedding_type", "fourier"},
      {"time_embedding_dim", 0},
      {"time_cond_proj_dim", 1},
      {"time_cond_proj_dim", "ten"},
      {"addition_embed_type", "text"},
      {"addition_embed_type", "image"},
      {"addition_time_embed_dim", 0},
      {"addition_time_embed_dim", nullptr},
      {"projection_class_embeddings_input_dim", 6},
      {"projection_class_embeddings_input_dim", nullptr},
      {"resnet_time_scale_shift", "scale_shift"},
      {"attention_type", "gated"},
      {"only_cross_attention", true},
      {"only_cross_attention", Json{true, false}},
      {"only_cross_attention", List{}},
      {"only_cross_attention", Json{false, false, false}},
      {"dual_cross_attention", true},
      {"center_input_sample", true},
      {"resnet_skip_time_act", true},
      {"class_embeddings_concat", true},
      {"class_embed_type", "timestep"},
      {"num_class_embeds", 1000},
      {"encoder_hid_dim", 768},
      {"encoder_hid_dim_type", "text_proj"},
      {"time_embedding_act_fn", "silu"},
      {"timestep_post_act", "silu"},
      {"cross_attention_norm", "layer_norm"},
      {"conv_in_kernel", 1},
      {"conv_out_kernel", 5},
      {"downsample_padding", 0},
      {"mid_block_scale_factor", 2},
      {"resnet_out_scale_factor", 1.5},
      {"in_channels", nullptr},
      {"out_channels", nullptr},
      {"freq_shift", nullptr},
      {"down_block_types", nullptr},
      {"up_block_types", nullptr},
      {"only_cross_attention", nullptr},
      {"block_out_channels", nullptr},
      {"layers_per_block", nullptr},
      {"downsample_padding", nullptr},
      {"mid_block_scale_factor", nullptr},
      {"act_fn", nullptr},
      {"norm_num_groups", nullptr},
      {"norm_eps", nullptr},
      {"cross_attention_dim", nullptr},
      {"transformer_layers_per_block", nullptr},
      {"attention_head_dim", nullptr},
      {"resnet_time_scale_shift", nullptr},
      {"time_embedding_type", nullptr},
      {"conv_in_kernel", nullptr},
      {"conv_out_kernel", nullptr},
  };
  for (const auto& [key, value] : bad) {
    Json json = whole();
    json[key] = value;
    const std::string message = complaint(json);
    CAPTURE(key, value.dump(), message);
    CHECK(message.find("unet/config.json") == 0);
    CHECK((message.find("'" + key + "'") != std::string::npos ||
           message.find("'" + key + "[") != std::string::npos));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("sizes under 64 in the first UNets' configs are set right as diffusers does") {
  const auto size = [](const std::string& version, const Json& more) {
    Json json{{"_diffusers_version", version}, {"sample_size", 32}};
    json.update(more);
    return config_of(json).sample_size;
  };
  const Json none = Json::object();
  CHECK(size("0.6.0", none) == 64);
  CHECK(size("0.2.2", none) == 64);
  CHECK(size("0.8.1", {{"sample_size", 96}}) == 96);
  CHECK(size("0.9.0", none) == 32);
  CHECK(size("0.9.0.dev0", none) == 32);
  CHECK(size("0.10.2", none) == 32);
  CHECK(size("1.0", none) == 32);
  CHECK(size("0.6.0", {{"time_cond_proj_dim", 256}}) == 32);  // a latent consistency model's
  CHECK(size("0.6.0", {{"addition_embed_type", "text_time"},
                       {"addition_time_embed_dim", 256},
                       {"projection_class_embeddings_input_dim", 2816}}) == 32);
  CHECK(config_of({{"sample_size", 32}}).sample_size == 32);
}

TEST_CASE("a shifted frequency that leaves none names the width") {
  Json json = whole();
  json["freq_shift"] = 1;
  CHECK(complaint(json) == "");
  json["addition_time_embed_dim"] = 2;
  CHECK_THAT(complaint(json), Catch::Contains("'addition_time_embed_dim'") && Catch::Contains("freq_shift"));
}

TEST_CASE("a UNet's config that is no object, or no file, is one line") {
  CHECK_THROWS_AS(UNetConfig::from(io::Config("unet/config.json", Json::array())), InputError);
  CHECK_THROWS_AS(UNetConfig::load("/nowhere/unet/config.json"), InputError);
}
