// Adds up the linear layers of a Flux transformer.
#include <algorithm>
#include <span>
#include <utility>

#include <flux/accounting.hpp>

namespace precast::flux {

namespace {

/// Width of the sinusoidal timestep embedding, fixed in every Flux model.
constexpr std::int64_t timestep_channels = 256;

/// A linear layer of a block, by its name in it; `in` and `out` are in widths of the model.
struct BlockLinear {
  std::string_view name;
  std::int64_t in, out;
};
constexpr BlockLinear in_double_block[] = {{"norm1.linear", 1, 6},
                                           {"norm1_context.linear", 1, 6},
                                           {"attn.to_q", 1, 1},
                                           {"attn.to_k", 1, 1},
                                           {"attn.to_v", 1, 1},
                                           {"attn.to_out.0", 1, 1},
                                           {"attn.add_q_proj", 1, 1},
                                           {"attn.add_k_proj", 1, 1},
                                           {"attn.add_v_proj", 1, 1},
                                           {"attn.to_add_out", 1, 1},
                                           {"ff.net.0.proj", 1, 4},
                                           {"ff.net.2", 4, 1},
                                           {"ff_context.net.0.proj", 1, 4},
                                           {"ff_context.net.2", 4, 1}};
constexpr BlockLinear in_single_block[] = {{"norm.linear", 1, 3}, {"attn.to_q", 1, 1}, {"attn.to_k", 1, 1},
                                           {"attn.to_v", 1, 1},   {"proj_mlp", 1, 4},  {"proj_out", 5, 1}};

/// The name prefixes of the two kinds of block, and their linear layers.
constexpr std::pair<std::string_view, std::span<const BlockLinear>> kinds_of_blocks[] = {
    {"transformer_blocks.", in_double_block}, {"single_transformer_blocks.", in_single_block}};

/// Sums of linear layers' weights and biases.
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
  for (const BlockLinear& linear : in_double_block) double_block.add(linear.in * width, linear.out * width);
  for (const BlockLinear& linear : in_single_block) single_block.add(linear.in * width, linear.out * width);
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

std::optional<Shape> block_weight_shape(const TransformerConfig& config, std::string_view tensor_name) {
  constexpr std::string_view weight = ".weight";
  if (!tensor_name.ends_with(weight)) return std::nullopt;
  tensor_name.remove_suffix(weight.size());
  for (const auto& [stem, linears] : kinds_of_blocks) {
    const std::size_t dot = tensor_name.find('.', stem.size());
    if (!tensor_name.starts_with(stem) || dot == tensor_name.npos) continue;
    const auto linear = std::ranges::find(linears, tensor_name.substr(dot + 1), &BlockLinear::name);
    if (linear != linears.end())
      return Shape{linear->out * config.inner_dim(), linear->in * config.inner_dim()};
  }
  return std::nullopt;
}

}  // namespace precast::flux
