// Reads vae/config.json.
#include <string>
#include <vector>

#include <vae/autoencoder.hpp>

#include <precast/io/config.hpp>
#include <precast/io/message.hpp>
#include <precast/io/unset_keys.hpp>

namespace precast::vae {

namespace {

void require_blocks(const io::Config& json, std::string_view key, const std::string& kind,
                    std::size_t levels) {
  if (!json.has(key)) return;
  const std::vector<std::string> names = json.strings(key);
  for (const std::string& name : names)
    if (name != kind)
      throw json.error(key, "'" + io::printable(name, 40) +
                                "' is not known: use a model whose autoencoder has only " + kind);
  if (names.size() != levels)
    throw json.error(key, "has " + std::to_string(names.size()) + " items, where block_out_channels has " +
                              std::to_string(levels) + " levels: correct it");
}

/// A number per channel; empty if the key is missing or null.
std::vector<double> by_channel(const io::Config& json, std::string_view key, std::int64_t channels,
                               double least) {
  if (!json.has(key)) return {};
  std::vector<double> numbers = json.numbers(key, least, 1e6);
  if (std::ssize(numbers) != channels)
    throw json.error(key, "must be a list of " + std::to_string(channels) +
                              " numbers, one for each latent channel: correct it");
  return numbers;
}

/// Checks the types of keys that have no effect here, on which diffusers fails if they are wrong.
void require_types(const io::Config& json) {
  constexpr std::int64_t longest = 1 << 14;
  json.refuse_null({"_class_name", "sample_size"});
  json.require_class("AutoencoderKL", "give the folder of a VAE that is one");
  if (json.has_list("sample_size"))
    json.integers("sample_size", 1, longest);
  else
    json.integer_or("sample_size", 32, 1, longest);
}

}  // namespace

AutoencoderConfig AutoencoderConfig::load(const std::filesystem::path& file) {
  const io::Config json = io::without_unset_keys(io::Config::load(file));
  require_types(json);
  constexpr std::int64_t widest = 1 << 16;
  json.refuse_null({"in_channels", "out_channels", "latent_channels", "layers_per_block", "norm_num_groups",
                    "block_out_channels", "down_block_types", "up_block_types", "act_fn", "scaling_factor"});
  AutoencoderConfig config;
  config.in_channels = json.integer_or("in_channels", 3, 3, 3);
  config.out_channels = json.integer_or("out_channels", 3, 3, 3);
  config.latent_channels = json.integer_or("latent_channels", 4, 1, widest);
  config.layers_per_block = json.integer_or("layers_per_block", 1, 1, 64);
  config.norm_num_groups = json.integer_or("norm_num_groups", 32, 1, widest);
  config.block_out_channels = json.integers("block_out_channels", 1, widest);
  if (config.block_out_channels.empty() || config.block_out_channels.size() > 8)
    throw json.error("block_out_channels",
                     "must have 1 to 8 levels, a factor of 1 to 128 a side: correct it");
  for (const std::int64_t channels : config.block_out_channels)
    if (channels % config.norm_num_groups != 0)
      throw json.error("norm_num_groups", "must divide each of block_out_channels: correct it");
  require_blocks(json, "down_block_types", "DownEncoderBlock2D", config.block_out_channels.size());
  require_blocks(json, "up_block_types", "UpDecoderBlock2D", config.block_out_channels.size());
  json.one_of_or("act_fn", true, {{"silu", true}, {"swish", true}},
                 "use a model that has it");  // two names of the same function
  config.use_quant_conv = json.boolean_or("use_quant_conv", true);
  config.use_post_quant_conv = json.boolean_or("use_post_quant_conv", true);
  config.mid_block_add_attention = json.boolean_or("mid_block_add_attention", true);
  config.force_upcast = json.boolean_or("force_upcast", true);
  config.scaling_factor = json.number_or("scaling_factor", 0.18215, 1e-6, 1e6);
  config.shift_factor = json.number_or("shift_factor", 0.0, -1e6, 1e6);
  config.latents_mean = by_channel(json, "latents_mean", config.latent_channels, -1e6);
  config.latents_std = by_channel(json, "latents_std", config.latent_channels, 1e-6);
  if (config.latents_mean.empty() != config.latents_std.empty())
    throw json.error("latents_mean",
                     "and latents_std belong together, and one of them is missing: give both, or neither");
  return config;
}

}  // namespace precast::vae
