// How large everything is, and how often it runs. pytorch_work.py has the same sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <common/flux_parts.hpp>
#include <common/work.hpp>
#include <flux/transformer.hpp>
#include <stable_diffusion/released_unets.hpp>
#include <stable_diffusion/unet.hpp>
#include <vae/autoencoder.hpp>

namespace precast::bench {

/// A UNet, and how large a picture it draws.
struct UNetSize {
  std::string kind;
  stable_diffusion::UNetConfig config;
  std::int64_t picture;
};

/// Sizes of Flux.1 dev, for a picture of 1024 x 1024 pixels and 512 tokens of text.
struct Sizes {
  std::int64_t rows = 4608, columns = 3072;  ///< of what norms and pointwise ops work on
  std::int64_t copied_rows = 131072;         ///< of the same columns: far more than any cache
  std::int64_t head_width = 128;
  std::int64_t picture = 1024, channels = 128, groups = 32;  ///< of the autoencoder's last group norm
  std::vector<std::int64_t> attention_tokens{768, 1536, 4608};
  /// The last is of GPT-2's vocabulary, whose rows are no multiples of 16 bytes.
  LinearShapes layers{{4608, 3072, 3072},  {4608, 3072, 9216},  {4608, 3072, 12288}, {4608, 3072, 18432},
                      {4608, 12288, 3072}, {4608, 15360, 3072}, {1, 3072, 18432},    {1024, 768, 50257}};
  LinearShapes tiled_layers{{4608, 3072, 3072}, {4608, 3072, 12288}};
  LinearShape largest_product{8192, 8192, 8192};
  std::vector<Tokens> block_tokens{{512, 1024}, {512, 4096}};
  Tokens step_tokens{512, 4096};
  flux::TransformerConfig model = [] {
    flux::TransformerConfig config;
    config.guidance_embeds = true;
    return config;
  }();
  std::vector<UNetSize> unets{{"unet_step", testing::released_unet("1.5").parsed(), 512},
                              {"unet_xl_step", testing::released_unet("XL").parsed(), 1024}};
  vae::AutoencoderConfig
      autoencoder;  ///< Flux's; those of Stable Diffusion have 4 latent channels for its 16
  std::int64_t decoded_picture = 1024;
  /// x times a weight in blocks: few rows, and more, up to those of a picture's tokens.
  std::vector<std::int64_t> block_rows{1, 8, 16, 64, 128, 256, 512, 1024, 4608};
  std::int64_t block_in = 3072, block_out = 12288;

  double warm_seconds = 0.2;    ///< of work before anything is measured: clocks rise slowly
  int least_warm_runs = 3;      ///< a replayed graph is recorded in the second
  std::int64_t most_runs = 50;  ///< whatever a benchmark asks for

  /// A few rows of everything: whether it runs.
  static Sizes tiny() {
    Sizes sizes;
    sizes.rows = 3;
    sizes.copied_rows = 4;
    sizes.picture = 4;
    sizes.attention_tokens = {5, 20};
    sizes.layers = {{12, 128, 256}, {1, 128, 384}, {12, 128, 97}};
    sizes.tiled_layers = {{12, 128, 256}};
    sizes.largest_product = {16, 24, 32};
    sizes.block_tokens = {{3, 9}};
    sizes.step_tokens = {3, 9};
    sizes.block_rows = {1, 12};
    sizes.block_in = 256;
    sizes.block_out = 128;
    for (UNetSize& unet : sizes.unets) {
      unet.config = testing::tiny_unet().parsed();
      unet.picture = 16;
    }
    sizes.autoencoder.block_out_channels = {32, 32};
    sizes.decoded_picture = 8;
    sizes.model.num_attention_heads = 1;
    sizes.model.num_layers = 1;
    sizes.model.num_single_layers = 1;
    sizes.model.joint_attention_dim = 64;
    sizes.model.pooled_projection_dim = 32;
    sizes.warm_seconds = 0;
    sizes.least_warm_runs = 2;
    sizes.most_runs = 1;
    return sizes;
  }
};

}  // namespace precast::bench
