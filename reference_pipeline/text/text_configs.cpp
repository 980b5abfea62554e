// Reads config.json of CLIP's text model and of T5's encoder.
#include <algorithm>
#include <cmath>
#include <string>

#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>

#include <precast/io/config.hpp>

namespace precast::text {

namespace {

constexpr std::int64_t widest = 1 << 17;
constexpr std::int64_t deepest = 4096;
constexpr std::int64_t largest_vocabulary = 1 << 24;

/// The activation with this name in transformers.
ActivationFunction activation_named(const io::Config& json, std::string_view key, const std::string& name) {
  if (name == "quick_gelu") return ActivationFunction::quick_gelu;
  if (name == "gelu") return ActivationFunction::gelu_erf;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return ActivationFunction::gelu_tanh;
  if (name == "relu") return ActivationFunction::relu;
  if (name == "silu" || name == "swish") return ActivationFunction::silu;
  throw json.error(key,
                   "the activation '" + io::printable(name, 40) +
                       "' is not known: quick_gelu, gelu, gelu_new, gelu_pytorch_tanh, relu and silu are");
}

/// Checks the types of keys that have no effect here, on which transformers fails if they are wrong.
void require_types(const io::Config& json) {
  constexpr double largest = 1e6;
  json.refuse_null({"initializer_range", "initializer_factor"});
  for (const char* of_training : {"attention_dropout", "initializer_range", "initializer_factor"})
    json.number_or(of_training, 0, 0, largest);
  // The tokenizer determines the start and padding tokens.
  for (const char* token : {"bos_token_id", "pad_token_id"})
    json.integer_or(token, 0, -largest_vocabulary, largest_vocabulary);
  for (const char* of_loading : {"torch_dtype", "dtype"}) json.string_or(of_loading, "");
}

/// Throws InputError if the config is another diffusers component's, which has a class and no model type of
/// transformers'.
void require_text_encoder(const io::Config& json, const char* known) {
  if (!json.has("model_type")) json.require_class(known, "give the folder of a text encoder");
}

}  // namespace

ClipConfig ClipConfig::load(const std::filesystem::path& file) {
  const io::Config whole = io::Config::load(file);
  require_text_encoder(whole, "CLIPTextModel");
  // transformers also accepts the text part of a full CLIP config.
  const io::Config json = whole.string_or("model_type", "") == "clip" && whole.has("text_config")
                              ? whole.object("text_config")
                              : whole;
  json.refuse_null({"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                    "num_attention_heads", "max_position_embeddings", "eos_token_id", "layer_norm_eps",
                    "hidden_act"});
  require_types(json);
  ClipConfig config;
  config.vocab_size = json.integer_or("vocab_size", config.vocab_size, 1, largest_vocabulary);
  // The defaults of transformers' class, a smaller CLIP than the published ones.
  config.hidden_size = json.integer_or("hidden_size", 512, 1, widest);
  config.intermediate_size = json.integer_or("intermediate_size", 2048, 1, widest);
  config.num_attention_heads = json.integer_or("num_attention_heads", 8, 1, 4096);
  config.num_hidden_layers = json.integer_or("num_hidden_layers", config.num_hidden_layers, 1, deepest);
  if (config.hidden_size % config.num_attention_heads != 0)
    throw json.error("num_attention_heads",
                     "must divide hidden_size, " + std::to_string(config.hidden_size) + ": correct it");
  config.max_position_embeddings =
      json.integer_or("max_position_embeddings", config.max_position_embeddings, 2, 1 << 16);
  config.projection_dim = json.integer_or("projection_dim", config.projection_dim, 1, widest);
  config.eos_token_id = json.integer_or("eos_token_id", config.eos_token_id, 0, config.vocab_size - 1);
  config.layer_norm_eps = json.number_or("layer_norm_eps", 1e-5, 0, 1);
  config.hidden_act = activation_named(json, "hidden_act", json.string_or("hidden_act", "quick_gelu"));
  return config;
}

std::int64_t ClipConfig::pooled_position(std::span<const std::int32_t> ids) const {
  // Configs written before transformers 4.24 have 2 here, and the end token has the largest id.
  const auto place = eos_token_id == 2
                         ? std::max_element(ids.begin(), ids.end())
                         : std::find(ids.begin(), ids.end(), static_cast<std::int32_t>(eos_token_id));
  return place == ids.end() ? 0 : place - ids.begin();
}

T5Config T5Config::load(const std::filesystem::path& file) {
  const io::Config json = io::Config::load(file);
  require_text_encoder(json, "T5EncoderModel");
  json.refuse_null({"vocab_size", "relative_attention_num_buckets", "relative_attention_max_distance",
                    "layer_norm_epsilon", "feed_forward_proj", "dense_act_fn", "hidden_size", "head_dim",
                    "num_hidden_layers", "num_attention_heads"});
  // transformers accepts other models' names of some sizes, and prefers those.
  const auto size = [&](const char* key, const char* other_name, std::int64_t most) {
    return json.integer(json.has(other_name) ? other_name : key, 1, most);
  };
  T5Config config;
  config.vocab_size = json.integer_or("vocab_size", config.vocab_size, 1, largest_vocabulary);
  config.d_model = size("d_model", "hidden_size", widest);
  config.d_kv = size("d_kv", "head_dim", 4096);
  config.d_ff = json.integer("d_ff", 1, widest);
  config.num_layers = size("num_layers", "num_hidden_layers", deepest);
  config.num_heads = size("num_heads", "num_attention_heads", 4096);
  config.relative_attention_num_buckets = json.integer_or("relative_attention_num_buckets", 32, 4, 1 << 16);
  if (config.relative_attention_num_buckets % 2 != 0)
    throw json.error("relative_attention_num_buckets",
                     "must be even, for half of them lie on either side: correct it");
  config.relative_attention_max_distance = json.integer_or(
      "relative_attention_max_distance", 128, config.relative_attention_num_buckets / 4 + 1, 1 << 24);
  config.layer_norm_epsilon = json.number_or("layer_norm_epsilon", 1e-6, 0, 1);
  const std::string projection = json.string_or("feed_forward_proj", "relu");
  config.gated = projection.starts_with("gated-");
  const std::string activation = config.gated ? projection.substr(6) : projection;
  // T5 1.1 was released with "gated-gelu", which means the tanh approximation.
  config.activation = activation_named(json, "feed_forward_proj",
                                       config.gated && activation == "gelu" ? "gelu_new" : activation);
  // transformers also writes values derived from feed_forward_proj, which override it if present.
  config.gated = json.boolean_or("is_gated_act", config.gated);
  if (json.has("dense_act_fn"))
    config.activation = activation_named(json, "dense_act_fn", json.string("dense_act_fn"));
  if (json.boolean_or("is_decoder", false))
    throw json.error("is_decoder", "is true, and prompts are read by an encoder: get the file again");
  return config;
}

std::int64_t T5Config::bucket(std::int64_t distance) const {
  const std::int64_t side = relative_attention_num_buckets / 2;
  const std::int64_t offset = distance > 0 ? side : 0;
  const std::int64_t away = std::abs(distance);
  const std::int64_t exact = side / 2;
  if (away < exact) return offset + away;
  // In f32, as in the reference: the boundaries of the buckets depend on rounding.
  const f32 ratio = std::log(static_cast<f32>(away) / static_cast<f32>(exact)) /
                    static_cast<f32>(std::log(static_cast<double>(relative_attention_max_distance) /
                                              static_cast<double>(exact)));
  const auto wide = exact + static_cast<std::int64_t>(ratio * static_cast<f32>(side - exact));
  return offset + std::min(wide, side - 1);
}

}  // namespace precast::text
