// Reads unet/config.json.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <stable_diffusion/unet.hpp>

#include <precast/io/config.hpp>
#include <precast/io/unset_keys.hpp>

namespace precast::stable_diffusion {

namespace {

constexpr std::int64_t widest = 1 << 16, most_levels = 8, most_layers = 64;
constexpr std::array default_down_blocks{"CrossAttnDownBlock2D", "CrossAttnDownBlock2D",
                                         "CrossAttnDownBlock2D", "DownBlock2D"};
constexpr std::array default_up_blocks{"UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D",
                                       "CrossAttnUpBlock2D"};
constexpr std::string_view what_is_known = "use a UNet of Stable Diffusion 1.x, 2.x or XL";

/// A key of which other values mean an unsupported model.
struct FixedKey {
  const char* key;
  std::vector<nlohmann::json> known;  ///< null stands for a missing key
};

void require_known(const io::Config& json, const FixedKey& fixed) {
  if (!json.has(fixed.key)) return;
  const nlohmann::json& value = json.value(fixed.key);
  if (std::ranges::find(fixed.known, value) != fixed.known.end()) return;
  std::string known;
  for (const nlohmann::json& one : fixed.known)
    known += (known.empty() ? "" : " or ") + (one.is_null() ? "null" : io::json_in_words(one));
  throw json.error(fixed.key, io::json_in_words(value) + " is not supported, only " + known + ": " +
                                  std::string(what_is_known));
}

/// Checks the types of keys that have no effect here. diffusers fails on some of them, and a file with a
/// wrong type in any is damaged.
void require_types(const io::Config& json) {
  json.refuse_null({"_class_name", "_diffusers_version", "dropout"});
  json.number_or("dropout", 0, 0, 1);  // only for training
  json.boolean_or("mid_block_only_cross_attention", false);
  json.integer_or("addition_embed_type_num_heads", 64, 1, widest);
}

void require_known_model(const io::Config& json) {
  json.refuse_null({"in_channels",
                    "out_channels",
                    "freq_shift",
                    "down_block_types",
                    "up_block_types",
                    "only_cross_attention",
                    "block_out_channels",
                    "layers_per_block",
                    "downsample_padding",
                    "mid_block_scale_factor",
                    "act_fn",
                    "norm_num_groups",
                    "norm_eps",
                    "cross_attention_dim",
                    "transformer_layers_per_block",
                    "attention_head_dim",
                    "resnet_time_scale_shift",
                    "time_embedding_type",
                    "conv_in_kernel",
                    "conv_out_kernel"});
  const nlohmann::json null;
  const std::vector<FixedKey> fixed{{"_class_name", {"UNet2DConditionModel"}},
                                    {"act_fn", {"silu", "swish"}},
                                    {"resnet_time_scale_shift", {"default"}},
                                    {"time_embedding_type", {"positional"}},
                                    {"attention_type", {"default"}},
                                    {"addition_embed_type", {"text_time", null}},
                                    {"center_input_sample", {false}},
                                    {"dual_cross_attention", {false}},
                                    {"resnet_skip_time_act", {false}},
                                    {"class_embeddings_concat", {false}},
                                    {"conv_in_kernel", {3}},
                                    {"conv_out_kernel", {3}},
                                    {"downsample_padding", {1}},
                                    {"mid_block_scale_factor", {1}},
                                    {"resnet_out_scale_factor", {1}},
                                    {"class_embed_type", {null}},
                                    {"num_class_embeds", {null}},
                                    {"encoder_hid_dim", {null}},
                                    {"encoder_hid_dim_type", {null}},
                                    {"time_embedding_act_fn", {null}},
                                    {"timestep_post_act", {null}},
                                    {"cross_attention_norm", {null, false}}};
  for (const FixedKey& one : fixed) require_known(json, one);
  if (json.has("num_attention_heads"))
    throw json.error("num_attention_heads",
                     io::json_in_words(json.value("num_attention_heads")) +
                         " is not supported, only null: diffusers reads the number of heads from "
                         "attention_head_dim, so remove this key");
  if (json.has("only_cross_attention")) {
    const nlohmann::json& value = json.value("only_cross_attention");
    const nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
    for (const nlohmann::json& one : list)
      if (one != nlohmann::json(false))
        throw json.error("only_cross_attention", io::json_in_words(one) + " is not supported, only false: " +
                                                     std::string(what_is_known));
  }
}

/// Whether each block on the way down or up has attention, from its kind.
std::vector<bool> blocks(const io::Config& json, const char* key, std::span<const char* const> defaults,
                         std::string_view attending, std::string_view plain) {
  std::vector<std::string> names(defaults.begin(), defaults.end());
  if (json.has(key)) names = json.strings(key);
  std::vector<bool> attend;
  for (std::string& name : names) {
    constexpr std::string_view of_first_configs = "UNetRes";
    if (name.starts_with(of_first_configs)) name.erase(0, of_first_configs.size());
    if (name != attending && name != plain)
      throw json.error(key, "'" + io::printable(name, 40) + "' is not supported, only " +
                                std::string(attending) + " and " + std::string(plain) + ": " +
                                std::string(what_is_known));
    attend.push_back(name == attending);
  }
  return attend;
}

void require_levels(const io::Config& json, const char* key, std::size_t found, std::size_t levels) {
  if (found != levels)
    throw json.error(key, "has " + std::to_string(found) + " items, where block_out_channels has " +
                              std::to_string(levels) + " levels: correct it");
}

/// A number per level, from one number for all or a list.
std::vector<std::int64_t> by_level(const io::Config& json, const char* key, std::size_t levels,
                                   std::int64_t fallback, std::int64_t least, std::int64_t most) {
  if (!json.has_list(key))
    return std::vector<std::int64_t>(levels, json.integer_or(key, fallback, least, most));
  const std::vector<std::int64_t> numbers = json.integers(key, least, most);
  require_levels(json, key, numbers.size(), levels);
  return numbers;
}

/// The transformer blocks in the layers of each level: from one number for all, one per level, or lists
/// with one per layer.
std::vector<std::vector<std::int64_t>> depths(const io::Config& json, const char* key,
                                              std::span<const std::int64_t> layers) {
  std::vector<std::vector<std::int64_t>> result;
  if (!json.has_list(key)) {
    const std::int64_t depth = json.integer_or(key, 1, 0, most_layers);
    for (const std::int64_t count : layers) result.emplace_back(count, depth);
    return result;
  }
  const auto number = [&](const nlohmann::json& item) { return json.as_integer(key, item, 0, most_layers); };
  const nlohmann::json& items = json.value(key);
  require_levels(json, key, items.size(), layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::vector<std::int64_t>& level = result.emplace_back();
    if (!items[i].is_array()) {
      level.assign(static_cast<std::size_t>(layers[i]), number(items[i]));
      continue;
    }
    if (std::ssize(items[i]) != layers[i])
      throw json.error(key, "has a list of " + std::to_string(items[i].size()) + " for a level of " +
                                std::to_string(layers[i]) + " layers: correct it");
    for (const nlohmann::json& item : items[i]) level.push_back(number(item));
  }
  return result;
}

/// The same for layers up: from their own key, from the last level to the first, else as for layers down.
std::vector<std::vector<std::int64_t>> depths_up(const io::Config& json, std::vector<std::int64_t> layers) {
  constexpr const char *down = "transformer_layers_per_block", *up = "reverse_transformer_layers_per_block";
  for (std::int64_t& count : layers) ++count;
  if (!json.has(up)) {
    if (json.has_list(down))
      for (const nlohmann::json& item : json.value(down))
        if (item.is_array())
          throw json.error(up,
                           "is missing, where " + std::string(down) +
                               " has a list for a level: it says what the way up has, get the file again");
    return depths(json, down, layers);
  }
  if (!json.has_list(up)) throw json.wrong(up, "must be a list with an item for each level", json.value(up));
  std::ranges::reverse(layers);
  auto result = depths(json, up, layers);
  std::ranges::reverse(result);
  return result;
}

/// The width of the prompt's tokens, which must be the same for all levels.
std::int64_t context_width(const io::Config& json, std::size_t levels) {
  const std::vector<std::int64_t> widths = by_level(json, "cross_attention_dim", levels, 1280, 1, widest);
  if (std::ranges::adjacent_find(widths, std::ranges::not_equal_to{}) != widths.end())
    throw json.error("cross_attention_dim",
                     "holds different widths, where all levels look at one prompt: correct it");
  return widths.front();
}

UNetConfig::MidBlockType mid_block_of(const io::Config& json) {
  // Unlike for other keys, null is a value.
  constexpr const char* key = "mid_block_type";
  if (json.is_null(key)) return UNetConfig::MidBlockType::absent;
  return json.one_of_or(key, UNetConfig::MidBlockType::attention,
                        {{"UNetMidBlock2DCrossAttn", UNetConfig::MidBlockType::attention},
                         {"UNetMidBlock2D", UNetConfig::MidBlockType::residual}},
                        std::string(what_is_known));
}

/// Whether a level has attention, the middle included for the last level.
bool attends(const UNetConfig& config, std::size_t level) {
  const bool middle =
      level + 1 == config.levels.size() && config.mid_block == UNetConfig::MidBlockType::attention;
  return config.levels[level].attention_down || config.levels[level].attention_up || middle;
}

void read_levels(const io::Config& json, UNetConfig& config) {
  std::vector<std::int64_t> channels{320, 640, 1280, 1280};
  if (json.has("block_out_channels")) channels = json.integers("block_out_channels", 1, widest);
  const std::size_t count = channels.size();
  if (count == 0 || count > most_levels)
    throw json.error("block_out_channels", "must have 1 to " + std::to_string(most_levels) +
                                               " levels, a factor of 1 to 128 a side: correct it");
  const std::vector<bool> down = blocks(json, "down_block_types", default_down_blocks, "CrossAttnDownBlock2D",
                                        "DownBlock2D"),
                          up = blocks(json, "up_block_types", default_up_blocks, "CrossAttnUpBlock2D",
                                      "UpBlock2D");
  require_levels(json, "down_block_types", down.size(), count);
  require_levels(json, "up_block_types", up.size(), count);
  if (json.has_list("only_cross_attention"))
    require_levels(json, "only_cross_attention", json.value("only_cross_attention").size(), count);
  const auto layers = by_level(json, "layers_per_block", count, 2, 1, most_layers),
             heads = by_level(json, "attention_head_dim", count, 8, 1, widest);
  const auto blocks_down = depths(json, "transformer_layers_per_block", layers),
             blocks_up = depths_up(json, layers);
  for (std::size_t i = 0; i < count; ++i)
    config.levels.push_back({.channels = channels[i],
                             .layers = layers[i],
                             .attention_down = down[i],
                             .attention_up = up[count - 1 - i],
                             .heads = heads[i],
                             .depths_down = blocks_down[i],
                             .depths_up = blocks_up[i]});
  config.mid_block_depth = blocks_down.back().front();
  for (std::size_t i = 0; i < count; ++i) {
    if (channels[i] % config.norm_groups != 0)
      throw json.error("norm_num_groups", std::to_string(config.norm_groups) +
                                              " must divide each of block_out_channels, " +
                                              std::to_string(channels[i]) + " among them: correct it");
    if (attends(config, i) && heads[i] > channels[i])
      throw json.error("attention_head_dim", "(the number of heads) is " + std::to_string(heads[i]) +
                                                 ", more than the " + std::to_string(channels[i]) +
                                                 " channels of its level: correct it");
  }
  config.context_width = context_width(json, count);
}

void read_text_time(const io::Config& json, UNetConfig& config) {
  config.text_time = json.has("addition_embed_type");
  if (!config.text_time) return;
  config.time_id_channels = json.integer("addition_time_embed_dim", 2, widest);
  config.text_time_width = json.integer("projection_class_embeddings_input_dim", 1, 1 << 20);
  if (config.text_time_width <= config.time_id_channels)
    throw json.error("projection_class_embeddings_input_dim",
                     std::to_string(config.text_time_width) +
                         " holds no pooled text beside time ids of addition_time_embed_dim, " +
                         std::to_string(config.time_id_channels) + ": correct it");
}

/// Whether diffusers wrote the config before release 0.9.
bool is_before_0_9(const io::Config& json) {
  constexpr const char* key = "_diffusers_version";
  if (!json.has(key)) return false;
  const std::string version = json.string(key);
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto [point, failed] = std::from_chars(version.data(), end, major);
  if (failed != std::errc{})
    throw json.error(key,
                     "'" + io::printable(version, 40) + "' is not a version: correct it, or remove the key");
  if (point != end && *point == '.') std::from_chars(point + 1, end, minor);
  return major == 0 && minor < 9;
}

void read_sample_size(const io::Config& json, UNetConfig& config) {
  constexpr std::int64_t longest = 1 << 14;
  const bool is_early = is_before_0_9(json);
  if (!json.has("sample_size")) return;
  if (!json.has_list("sample_size")) {
    config.sample_size = json.integer("sample_size", 1, longest);
    // Before 0.9, folders of 1.x had 32 by mistake, which diffusers' pipelines correct.
    constexpr std::int64_t of_v1 = 64;
    const bool is_of_a_later_kind = config.text_time || config.guidance_channels > 0;
    if (is_early && !is_of_a_later_kind) config.sample_size = std::max(*config.sample_size, of_v1);
    return;
  }
  const std::vector<std::int64_t> sides = json.integers("sample_size", 1, longest);
  if (sides.size() != 2 || sides[0] != sides[1])
    throw json.error("sample_size", "must be one number, or one number twice: correct it");
  config.sample_size = sides[0];
}

}  // namespace

UNetConfig UNetConfig::from(const io::Config& json) {
  require_types(json);
  require_known_model(json);
  UNetConfig config;
  config.in_channels = json.integer_or("in_channels", 4, 1, widest);
  config.out_channels = json.integer_or("out_channels", 4, 1, widest);
  config.norm_groups = json.integer_or("norm_num_groups", 32, 1, widest);
  config.norm_epsilon = json.number_or("norm_eps", 1e-5, 1e-12, 1);
  config.mid_block = mid_block_of(json);
  read_levels(json, config);
  const std::int64_t first = config.levels.front().channels;
  config.linear_projection = json.boolean_or("use_linear_projection", false);
  config.time_width = json.integer_or("time_embedding_dim", 4 * first, 1, 4 * widest);
  config.cosines_first = json.boolean_or("flip_sin_to_cos", true);
  config.frequency_shift = json.integer_or("freq_shift", 0, 0, 1);
  config.guidance_channels = json.integer_or("time_cond_proj_dim", 0, 4, widest);
  read_text_time(json, config);
  for (const auto& [key, width] : {std::pair{"block_out_channels", first},
                                   std::pair{"addition_time_embed_dim", config.time_id_channels}})
    if (width != 0 && width / 2 <= config.frequency_shift)
      throw json.error(key, "of " + std::to_string(width) +
                                " leaves the embedding of a time no frequency: correct it, or freq_shift");
  config.upcast_attention = json.boolean_or("upcast_attention", false);
  read_sample_size(json, config);
  return config;
}

UNetConfig UNetConfig::load(const std::filesystem::path& file) {
  return from(io::without_unset_keys(io::Config::load(file)));
}

}  // namespace precast::stable_diffusion
