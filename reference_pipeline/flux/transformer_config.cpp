// Reads transformer/config.json.
#include <numeric>

#include <flux/transformer.hpp>

#include <precast/io/config.hpp>
#include <precast/io/unset_keys.hpp>

namespace precast::flux {

TransformerConfig TransformerConfig::load(const std::filesystem::path& file) {
  const io::Config json = io::without_unset_keys(io::Config::load(file));
  json.refuse_null({"_class_name", "patch_size", "in_channels", "num_layers", "num_single_layers",
                    "attention_head_dim", "num_attention_heads", "joint_attention_dim",
                    "pooled_projection_dim", "axes_dims_rope"});
  json.require_class("FluxTransformer2DModel", "give a Flux model, or a file or folder of its transformer");
  constexpr std::int64_t widest = 1 << 17, deepest = 4096;
  TransformerConfig config;
  if (json.integer_or("patch_size", 1, 1, 64) != 1)
    throw json.error("patch_size", "only 1 is supported, as in every released Flux model: use such a model");
  config.in_channels = json.integer_or("in_channels", config.in_channels, 4, widest);
  if (config.in_channels % 4 != 0)
    throw json.error("in_channels", "must be divisible by 4, for 2x2 latents make a token: correct it");
  config.out_channels = json.integer_or("out_channels", config.in_channels, 1, widest);
  if (config.out_channels != config.in_channels)
    throw json.error("out_channels",
                     "must equal in_channels, for the sampler adds one to the other: correct it");
  config.num_layers = json.integer_or("num_layers", config.num_layers, 0, deepest);
  config.num_single_layers = json.integer_or("num_single_layers", config.num_single_layers, 0, deepest);
  config.attention_head_dim = json.integer_or("attention_head_dim", config.attention_head_dim, 2, 4096);
  config.num_attention_heads = json.integer_or("num_attention_heads", config.num_attention_heads, 1, 4096);
  config.joint_attention_dim = json.integer_or("joint_attention_dim", config.joint_attention_dim, 1, widest);
  config.pooled_projection_dim =
      json.integer_or("pooled_projection_dim", config.pooled_projection_dim, 1, widest);
  config.guidance_embeds = json.boolean_or("guidance_embeds", config.guidance_embeds);
  if (json.has("axes_dims_rope")) config.axes_dims_rope = json.integers("axes_dims_rope", 0, 4096);
  if (config.axes_dims_rope.size() != 3)
    throw json.error("axes_dims_rope", "must have 3 sizes, for a token has 3 coordinates: correct it");
  for (const std::int64_t size : config.axes_dims_rope)
    if (size % 2 != 0)
      throw json.error("axes_dims_rope", "must hold even sizes, for values turn in pairs: correct it");
  const std::int64_t rotated =
      std::accumulate(config.axes_dims_rope.begin(), config.axes_dims_rope.end(), std::int64_t{0});
  if (rotated != config.attention_head_dim)
    throw json.error("axes_dims_rope", "must add up to attention_head_dim, " +
                                           std::to_string(config.attention_head_dim) + ", not to " +
                                           std::to_string(rotated) + ": correct it");
  if (config.inner_dim() > widest)
    throw json.error("num_attention_heads",
                     "times attention_head_dim is over " + std::to_string(widest) + ": correct it");
  return config;
}

}  // namespace precast::flux
