// The UNets of released models: their configs, and how many parameters they are known to have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <stable_diffusion/unet.hpp>

#include <precast/error.hpp>
#include <precast/io/config.hpp>

namespace precast::testing {

struct ReleasedUNet {
  std::string name;
  nlohmann::json config;  ///< unet/config.json, with what tells it from the defaults
  std::int64_t parameters;

  stable_diffusion::UNetConfig parsed() const {
    return stable_diffusion::UNetConfig::from(io::Config("unet/config.json", config));
  }
};

inline const std::vector<ReleasedUNet>& released_unets() {
  using Json = nlohmann::json;
  static const std::vector<ReleasedUNet> unets{
      {"1.5",
       {{"_class_name", "UNet2DConditionModel"}, {"cross_attention_dim", 768}, {"sample_size", 64}},
       859520964},
      {"1.5, inpainting",
       {{"cross_attention_dim", 768}, {"in_channels", 9}},
       859535364},  // 5 x 9 x 320 weights more
      {"2.1",
       {{"attention_head_dim", {5, 10, 20, 20}},
        {"cross_attention_dim", 1024},
        {"dual_cross_attention", false},
        {"use_linear_projection", true},
        {"upcast_attention", true},
        {"only_cross_attention", false},
        {"sample_size", 96}},
       865910724},
      {"XL",
       {{"block_out_channels", {320, 640, 1280}},
        {"down_block_types", {"DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"}},
        {"up_block_types", {"CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"}},
        {"attention_head_dim", {5, 10, 20}},
        {"transformer_layers_per_block", {1, 2, 10}},
        {"cross_attention_dim", 2048},
        {"use_linear_projection", true},
        {"addition_embed_type", "text_time"},
        {"addition_time_embed_dim", 256},
        {"projection_class_embeddings_input_dim", 2816},
        {"class_embed_type", nullptr},
        {"sample_size", 128}},
       2567463684},
      {"XL, refiner",
       {{"block_out_channels", {384, 768, 1536, 1536}},
        {"down_block_types", {"DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"}},
        {"up_block_types", {"UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"}},
        {"attention_head_dim", {6, 12, 24, 24}},
        {"transformer_layers_per_block", 4},
        {"cross_attention_dim", 1280},
        {"use_linear_projection", true},
        {"addition_embed_type", "text_time"},
        {"addition_time_embed_dim", 256},
        {"projection_class_embeddings_input_dim", 2560}},
       2259526660},
      // XL with layers taken out
      {"SSD-1B",
       {{"block_out_channels", {320, 640, 1280}},
        {"down_block_types", {"DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"}},
        {"up_block_types", {"CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"}},
        {"mid_block_type", "UNetMidBlock2D"},
        {"attention_head_dim", {5, 10, 20}},
        {"transformer_layers_per_block", {1, Json{2, 2}, Json{4, 4}}},
        {"reverse_transformer_layers_per_block", {Json{4, 4, 10}, Json{2, 1, 1}, 1}},
        {"cross_attention_dim", 2048},
        {"use_linear_projection", true},
        {"addition_embed_type", "text_time"},
        {"addition_time_embed_dim", 256},
        {"projection_class_embeddings_input_dim", 2816}},
       1331334404},
      {"Vega",
       {{"block_out_channels", {320, 640, 1280}},
        {"down_block_types", {"DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"}},
        {"up_block_types", {"CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"}},
        {"mid_block_type", "UNetMidBlock2D"},
        {"attention_head_dim", {5, 10, 20}},
        {"transformer_layers_per_block", {1, Json{1, 1}, Json{2, 2}}},
        {"reverse_transformer_layers_per_block", {Json{2, 2, 2}, Json{1, 1, 1}, 1}},
        {"cross_attention_dim", 2048},
        {"use_linear_projection", true},
        {"addition_embed_type", "text_time"},
        {"addition_time_embed_dim", 256},
        {"projection_class_embeddings_input_dim", 2816}},
       745225604}};
  return unets;
}

/// One of two small levels, which nobody has released.
inline ReleasedUNet tiny_unet() {
  return {"tiny",
          {{"block_out_channels", {32, 64}},
           {"down_block_types", {"CrossAttnDownBlock2D", "DownBlock2D"}},
           {"up_block_types", {"UpBlock2D", "CrossAttnUpBlock2D"}},
           {"layers_per_block", 1},
           {"attention_head_dim", 8},
           {"cross_attention_dim", 32}},
          0};
}

/// The one of that name, which must be there.
inline const ReleasedUNet& released_unet(std::string_view name) {
  for (const ReleasedUNet& unet : released_unets())
    if (unet.name == name) return unet;
  throw Error("there is no released UNet '" + std::string(name) + "'");
}

}  // namespace precast::testing
