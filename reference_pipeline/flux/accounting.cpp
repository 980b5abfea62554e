// Adds up the linear layers of a Flux transformer.
#include <flux/accounting.hpp>

namespace precast::flux {

namespace {

/// Width of the sinusoidal timestep embedding, fixed in every Flux model.
constexpr std::int64_t timestep_channels = 256;

/// Linear layers as they add up.
struct Linears {
  std::int64_t weights = 0, biases = 0;
  void add(std::int64_t in, std::int64_t out, std::int64_t count = 1) {
    weights += count * in * out;
    biases += count * out;
  }
};

}  // namespace

Accounting account(const TransformerConfig& config) {
  const std::int64_t width = config.inner_dim();
  Linears double_block, single_block, ends;
  double_block.add(width, 6 * width, 2);  // modulation of both streams
  double_block.add(width, width, 8);      // query, key, value and output of both
  double_block.add(width, 4 * width, 2);
  double_block.add(4 * width, width, 2);
  single_block.add(width, 3 * width);  // modulation
  single_block.add(width, width, 3);
  single_block.add(width, 4 * width);
  single_block.add(5 * width, width);
  ends.add(config.in_channels, width);
  ends.add(config.joint_attention_dim, width);
  ends.add(timestep_channels, width, config.guidance_embeds ? 2 : 1);
  ends.add(config.pooled_projection_dim, width);
  ends.add(width, width, config.guidance_embeds ? 3 : 2);  // the second layers of these embedders
  ends.add(width, 2 * width);
  ends.add(width, config.out_channels);

  Accounting result;
  result.double_blocks = config.num_layers;
  result.single_blocks = config.num_single_layers;
  result.double_block_weights = double_block.weights;
  result.single_block_weights = single_block.weights;
  result.block_biases =
      config.num_layers * double_block.biases + config.num_single_layers * single_block.biases;
  result.norm_scales = (4 * config.num_layers + 2 * config.num_single_layers) * config.attention_head_dim;
  result.entry_and_exit = ends.weights + ends.biases;
  result.entry_and_exit_biases = ends.biases;
  return result;
}

ParameterRole role_of(std::string_view tensor_name) {
  if (!tensor_name.starts_with("transformer_blocks.") &&
      !tensor_name.starts_with("single_transformer_blocks."))
    return ParameterRole::entry_and_exit;
  for (const std::string_view norm : {".norm_q.", ".norm_k.", ".norm_added_q.", ".norm_added_k."})
    if (tensor_name.find(norm) != std::string_view::npos) return ParameterRole::norm_scale;
  return tensor_name.ends_with(".bias") ? ParameterRole::block_bias : ParameterRole::block_weight;
}

}  // namespace precast::flux
