// Derives a component's config from the shapes of its tensors, and checks that a config agrees with it.
#include <algorithm>
#include <string>

#include <flux/component_weights.hpp>
#include <weights/component_facts.hpp>

namespace precast::flux {

namespace {

constexpr std::string_view double_stem = "transformer_blocks.", single_stem = "single_transformer_blocks.",
                           clip_stem = "encoder.layers.", t5_stem = "encoder.block.",
                           up_stem = "decoder.up_blocks.";

using weights::required_shape;

/// Compares a component's numbers in its tensors with those in a config.
class Comparison {
 public:
  Comparison(const ComponentWeights& weights, const std::filesystem::path& config, ConfigPlace place)
      : agreement_(weights, config,
                   place == ConfigPlace::beside ? "get both again"
                                                : "give a file and a --model that belong together"),
        place_(place) {}

  /// What the config has fewer of would be left out of pictures without a word. What a folder has fewer of
  /// than its config is named when a module asks for it.
  const Comparison& blocks(const std::string& what, std::int64_t in_file, std::int64_t in_config) const {
    if (place_ == ConfigPlace::beside)
      agreement_.no_more(what, in_file, in_config);
    else
      agreement_.same(what, in_file, in_config);
    return *this;
  }
  const weights::Agreement& agreement() const { return agreement_; }

 private:
  weights::Agreement agreement_;
  ConfigPlace place_;
};

/// The config from tensors, without the axes of positions, which tensors do not show.
TransformerConfig sizes_of_transformer(const ComponentWeights& weights) {
  TransformerConfig config;
  const Shape in = required_shape(weights, "x_embedder.weight", 2);
  config.in_channels = config.out_channels = in[1];
  config.joint_attention_dim = required_shape(weights, "context_embedder.weight", 2)[1];
  config.pooled_projection_dim =
      required_shape(weights, "time_text_embed.text_embedder.linear_1.weight", 2)[1];
  config.num_layers = weights.blocks(double_stem);
  config.num_single_layers = weights.blocks(single_stem);
  config.guidance_embeds = weights.shape("time_text_embed.guidance_embedder.linear_1.weight").has_value();
  const std::string norm =
      (config.num_layers ? std::string(double_stem) : std::string(single_stem)) + "0.attn.norm_q.weight";
  config.attention_head_dim = required_shape(weights, norm, 1)[0];
  if (config.attention_head_dim == 0 || in[0] % config.attention_head_dim != 0)
    throw weights.error("has rows of " + std::to_string(in[0]) + " values, which heads of " +
                        std::to_string(config.attention_head_dim) + " do not divide: get the file again");
  config.num_attention_heads = in[0] / config.attention_head_dim;
  return config;
}

std::int64_t clip_layers(const ComponentWeights& weights) { return weights.blocks(clip_stem); }

}  // namespace

TransformerConfig transformer_config(const ComponentWeights& weights) {
  TransformerConfig config = sizes_of_transformer(weights);
  if (config.attention_head_dim != 128)
    throw weights.error(
        "has heads of " + std::to_string(config.attention_head_dim) +
        " values, where Flux's have 128, so it is not known how they are rotated: give --model "
        "the model's folder, whose transformer/config.json does, and this file to --transformer");
  if (config.in_channels % 4 != 0)
    throw weights.error("takes " + std::to_string(config.in_channels) +
                        " channels in, which is not a multiple of 4: it is not a Flux transformer");
  return config;
}

text::ClipConfig clip_config(const ComponentWeights& weights) {
  text::ClipConfig config;
  const Shape tokens = required_shape(weights, "embeddings.token_embedding.weight", 2);
  config.vocab_size = tokens[0];
  config.hidden_size = tokens[1];
  config.max_position_embeddings = required_shape(weights, "embeddings.position_embedding.weight", 2)[0];
  config.num_hidden_layers = clip_layers(weights);
  config.intermediate_size = required_shape(weights, "encoder.layers.0.mlp.fc1.weight", 2)[0];
  if (config.hidden_size != 768 || config.vocab_size != 49408)
    throw weights.error("is a CLIP model of width " + std::to_string(config.hidden_size) + " and " +
                        std::to_string(config.vocab_size) +
                        " tokens where Flux has CLIP-L, of 768 and 49408: give CLIP-L, or a --model whose "
                        "text_encoder/config.json describes it");
  return config;
}

text::T5Config t5_config(const ComponentWeights& weights) {
  text::T5Config config;
  const std::string block = std::string(t5_stem) + "0.layer.";
  const Shape tokens = required_shape(
      weights, weights.shape("shared.weight") ? "shared.weight" : "encoder.embed_tokens.weight", 2);
  config.vocab_size = tokens[0];
  config.d_model = tokens[1];
  config.num_layers = weights.blocks(t5_stem);
  const Shape positions =
      required_shape(weights, block + "0.SelfAttention.relative_attention_bias.weight", 2);
  config.relative_attention_num_buckets = positions[0];
  config.num_heads = positions[1];
  const Shape query = required_shape(weights, block + "0.SelfAttention.q.weight", 2);
  if (config.num_heads == 0 || query[0] % config.num_heads != 0)
    throw weights.error("has queries of " + std::to_string(query[0]) + " values for " +
                        std::to_string(config.num_heads) + " heads: get the file again");
  config.d_kv = query[0] / config.num_heads;
  config.gated = weights.shape(block + "1.DenseReluDense.wi_0.weight").has_value();
  if (!config.gated)
    throw weights.error(
        "has no gated layers, where Flux has T5 1.1: give t5xxl, or a --model whose "
        "text_encoder_2/config.json describes it");
  config.d_ff = required_shape(weights, block + "1.DenseReluDense.wi_0.weight", 2)[0];
  return config;
}

vae::AutoencoderConfig autoencoder_config(const ComponentWeights& weights) {
  vae::AutoencoderConfig config;
  config.force_upcast = true;
  config.latent_channels = required_shape(weights, "decoder.conv_in.weight", 4)[1];
  config.use_quant_conv = weights.shape("quant_conv.weight").has_value();
  config.use_post_quant_conv = weights.shape("post_quant_conv.weight").has_value();
  if (config.latent_channels != 16 || config.use_post_quant_conv)
    throw weights.error("is an autoencoder of " + std::to_string(config.latent_channels) +
                        " latent channels" + (config.use_post_quant_conv ? " with a post_quant_conv" : "") +
                        " where Flux's has 16 and none: give ae.safetensors, or a --model whose "
                        "vae/config.json describes it");
  return config;
}

void check_agreement(const ComponentWeights& weights, const TransformerConfig& config,
                     const std::filesystem::path& config_file, ConfigPlace place) {
  const Comparison comparison(weights, config_file, place);
  comparison.blocks("a number of double blocks of", weights.blocks(double_stem), config.num_layers)
      .blocks("a number of single blocks of", weights.blocks(single_stem), config.num_single_layers);
  if (place == ConfigPlace::beside) return;  // modules say which tensor has another size
  const TransformerConfig found = sizes_of_transformer(weights);
  comparison.agreement()
      .same("heads of size", found.attention_head_dim, config.attention_head_dim)
      .same("a number of heads of", found.num_attention_heads, config.num_attention_heads)
      .same("a number of channels in of", found.in_channels, config.in_channels)
      .same("a width of text of", found.joint_attention_dim, config.joint_attention_dim)
      .same("a width of pooled text of", found.pooled_projection_dim, config.pooled_projection_dim)
      .same("guidance (1: yes, as dev has it; 0: no, as schnell)", found.guidance_embeds,
            config.guidance_embeds);
}

void check_agreement(const ComponentWeights& weights, const text::ClipConfig& config,
                     const std::filesystem::path& config_file, ConfigPlace place) {
  Comparison(weights, config_file, place)
      .blocks("a number of layers of", clip_layers(weights), config.num_hidden_layers);
}

void check_agreement(const ComponentWeights& weights, const text::T5Config& config,
                     const std::filesystem::path& config_file, ConfigPlace place) {
  Comparison(weights, config_file, place)
      .blocks("a number of layers of", weights.blocks(t5_stem), config.num_layers);
}

void check_agreement(const ComponentWeights& weights, const vae::AutoencoderConfig& config,
                     const std::filesystem::path& config_file, ConfigPlace place) {
  Comparison(weights, config_file, place)
      .blocks("a number of levels of", weights.blocks(up_stem), std::ssize(config.block_out_channels))
      .blocks("a number of layers in a level of", weights.blocks(std::string(up_stem) + "0.resnets."),
              config.layers_per_block + 1);
}

}  // namespace precast::flux
