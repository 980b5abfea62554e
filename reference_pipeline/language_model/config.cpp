// Reads and writes config.json of a language model.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <language_model/config.hpp>
#include <nlohmann/json.hpp>

#include <precast/error.hpp>
#include <precast/io/config.hpp>
#include <precast/io/number_text.hpp>

namespace precast::language_model {

namespace {

constexpr std::int64_t widest = 1 << 17, deepest = 1024, largest_vocabulary = 1 << 21;
/// The maximum of `positions`: for GPT-2 the rows of a table, for Llama only a limit on the context.
constexpr std::int64_t longest_table = 1 << 20, longest_context = (std::int64_t{1} << 31) - 1;

/// Requires silu, the only activation of SwiGLU here, under either of its names.
void require_silu(const io::Config& json, const char* key) {
  json.refuse_null({key});
  json.one_of_or(key, true, {{"silu", true}, {"swish", true}}, "use a model that has it");
}
/// The form of gelu that transformers' table of activations has for the name.
ActivationFunction gelu_named(const io::Config& json, const char* key) {
  using enum ActivationFunction;
  json.refuse_null({key});
  return json.one_of_or(key, gelu_tanh,
                        {{"gelu", gelu_erf},
                         {"gelu_python", gelu_erf},
                         {"gelu_new", gelu_tanh},
                         {"gelu_pytorch_tanh", gelu_tanh},
                         {"gelu_python_tanh", gelu_tanh},
                         {"gelu_fast", gelu_tanh},
                         {"gelu_accurate", gelu_tanh}},
                        "use a model that has one of them");
}

/// The keys of dropout that are above 0; a missing key has the value `usual`.
std::vector<std::string> dropouts(const io::Config& json, double usual,
                                  std::initializer_list<const char*> keys) {
  std::vector<std::string> found;
  for (const char* key : keys)
    if (json.number_or(key, usual, 0, 1) > 0) found.emplace_back(key);
  return found;
}

/// Keys of GPT-2 for which transformers accepts another name.
constexpr std::array<std::pair<const char*, const char*>, 4> other_names{
    {{"hidden_size", "n_embd"},
     {"max_position_embeddings", "n_positions"},
     {"num_attention_heads", "n_head"},
     {"num_hidden_layers", "n_layer"}}};

/// The name under which the file has a key. Throws InputError if it has both with different values.
const char* name_in(const io::Config& json, const char* name) {
  const char* const other = std::ranges::find(other_names, std::string_view(name), [](const auto& names) {
                              return std::string_view(names.second);
                            })->first;
  if (!json.has(other)) return name;
  if (!json.has(name)) return other;
  if (json.value(other) != json.value(name))
    throw json.error(
        other, std::string("differs from '") + name + "', which is another name for it: remove one of them");
  return name;
}

LanguageModelConfig gpt2(const io::Config& json) {
  LanguageModelConfig config;
  config.activation = gelu_named(json, "activation_function");
  config.scale_scores = json.boolean_or("scale_attn_weights", true);
  config.scale_scores_by_layer = json.boolean_or("scale_attn_by_inverse_layer_idx", false);
  if (json.boolean_or("add_cross_attention", false))
    throw json.error("add_cross_attention", "is not supported: use a model without it");
  config.vocabulary = json.integer("vocab_size", 1, largest_vocabulary);
  config.positions = json.integer_or(name_in(json, "n_positions"), 1024, 1, longest_table);
  config.width = json.integer(name_in(json, "n_embd"), 1, widest);
  config.layers = json.integer(name_in(json, "n_layer"), 1, deepest);
  config.heads = json.integer(name_in(json, "n_head"), 1, widest);
  config.heads_kv = config.heads;
  config.head_width = config.width / config.heads;
  config.inner = json.integer_or("n_inner", 4 * config.width, 1, widest * 4);
  config.norm_eps = json.number_or("layer_norm_epsilon", 1e-5, 0, 1);
  config.tied = json.boolean_or("tie_word_embeddings", true);
  config.left_out = dropouts(json, 0.1, {"embd_pdrop", "attn_pdrop", "resid_pdrop"});
  if (config.head_width * config.heads != config.width)
    throw json.error("n_head", "must divide n_embd: correct it");
  return config;
}

/// yarn's factor of cosines and sines if the file does not set it: YaRN's 0.1 ln(factor) + 1, or DeepSeek's
/// quotient of two such values.
double yarn_attention_factor(const io::Config& rope, double factor, double least, double largest) {
  const auto magnitude = [&](double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; };
  const double of_queries = rope.number_or("mscale", 0, 0, largest),
               of_all = rope.number_or("mscale_all_dim", 0, 0, largest);
  const double computed =
      of_queries != 0 && of_all != 0 ? magnitude(of_queries) / magnitude(of_all) : magnitude(1);
  return rope.number_or("attention_factor", computed, least, largest);
}

/// Parses the object under rope_parameters or rope_scaling; `beside` may hold two of its keys.
RotaryScaling rotary_scaling(const io::Config& rope, const io::Config& beside, std::int64_t positions) {
  const char* const key = rope.has("rope_type") ? "rope_type" : "type";  // before transformers 4.43
  using enum RotaryScalingKind;
  RotaryScaling scaling{
      .kind = rope.one_of_or(
          key, none,
          {{"default", none}, {"linear", linear}, {"dynamic", dynamic}, {"llama3", llama3}, {"yarn", yarn}},
          "use a model that has one of them")};
  if (scaling.kind == none) return scaling;
  constexpr double least_factor = 1e-6, largest_factor = 1e6;
  constexpr const char* original = "original_max_position_embeddings";
  if (scaling.kind == llama3 || scaling.kind == yarn)
    scaling.original_positions = beside.integer_or(
        original, rope.integer_or(original, positions, 1, longest_context), 1, longest_context);
  // A null factor means the quotient for yarn, as in transformers; a missing factor is an error.
  if (scaling.kind == yarn && rope.is_null("factor"))
    scaling.factor = static_cast<double>(positions) / static_cast<double>(scaling.original_positions);
  else
    scaling.factor = rope.number("factor", least_factor, largest_factor);
  if (!(scaling.factor >= least_factor && scaling.factor <= largest_factor))
    throw rope.error("factor",
                     "is null, and max_position_embeddings over original_max_position_embeddings is " +
                         io::shortest(scaling.factor) + ": correct these");
  if (scaling.kind == llama3) {
    scaling.low_frequency_factor = rope.number("low_freq_factor", least_factor, largest_factor);
    scaling.high_frequency_factor = rope.number("high_freq_factor", least_factor, largest_factor);
    if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
      throw rope.error("high_freq_factor", "must be above low_freq_factor: correct it");
  }
  if (scaling.kind == yarn) {
    scaling.beta_fast = rope.number_or("beta_fast", scaling.beta_fast, least_factor, largest_factor);
    scaling.beta_slow = rope.number_or("beta_slow", scaling.beta_slow, least_factor, largest_factor);
    if (scaling.beta_fast < scaling.beta_slow)
      throw rope.error("beta_fast", "must not be below beta_slow: correct it");
    scaling.truncate = rope.boolean_or("truncate", true);
    scaling.attention_factor = yarn_attention_factor(rope, scaling.factor, least_factor, largest_factor);
  }
  constexpr const char* partial = "partial_rotary_factor";
  const io::Config& holder = rope.has(partial) ? rope : beside;
  if (holder.number_or(partial, 1, 0, 1) != 1)
    throw holder.error(partial, "only 1 is supported: use a model that rotates whole heads");
  return scaling;
}

LanguageModelConfig llama(const io::Config& json) {
  LanguageModelConfig config;
  config.architecture = Architecture::llama;
  require_silu(json, "hidden_act");
  config.attention_bias = json.boolean_or("attention_bias", false);
  config.mlp_bias = json.boolean_or("mlp_bias", false);
  config.vocabulary = json.integer("vocab_size", 1, largest_vocabulary);
  config.positions = json.integer_or("max_position_embeddings", 2048, 1, longest_context);
  config.width = json.integer("hidden_size", 1, widest);
  config.layers = json.integer("num_hidden_layers", 1, deepest);
  config.heads = json.integer("num_attention_heads", 1, widest);
  config.heads_kv = json.integer_or("num_key_value_heads", config.heads, 1, widest);
  config.head_width = json.integer_or("head_dim", config.width / config.heads, 1, widest);
  config.inner = json.integer("intermediate_size", 1, widest * 4);
  config.norm_eps = json.number_or("rms_norm_eps", 1e-6, 0, 1);
  config.tied = json.boolean_or("tie_word_embeddings", false);
  config.left_out = dropouts(json, 0, {"attention_dropout"});
  // Negative ids count from the end, as in torch.nn.Embedding.
  config.padding = json.optional_integer("pad_token_id", -config.vocabulary, config.vocabulary - 1);
  if (config.padding && *config.padding < 0) *config.padding += config.vocabulary;
  constexpr double least_theta = 1, most_theta = 1e12;
  config.rope_theta = json.number_or("rope_theta", 10000, least_theta, most_theta);
  // rope_scaling is the older name; transformers uses only it if both are present, unless it is empty.
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!json.has(key)) continue;
    const io::Config rope = json.object(key);
    if (rope.json().empty()) continue;
    config.rotary_scaling = rotary_scaling(rope, json, config.positions);
    config.rope_theta = rope.number_or("rope_theta", config.rope_theta, least_theta, most_theta);
    if (config.rotary_scaling.kind == RotaryScalingKind::yarn && config.rope_theta == 1)
      throw rope.error("rope_theta", "must be above 1 where rotary positions are scaled by yarn: correct it");
    break;
  }
  return config;
}

}  // namespace

LanguageModelConfig LanguageModelConfig::load(const std::filesystem::path& file) {
  const io::Config json = io::Config::load(file);
  const std::string type = json.string("model_type");
  if (type != "gpt2" && type != "llama")
    throw json.error("model_type", "'" + io::printable(type, 40) +
                                       "' is not supported: use a folder of GPT2LMHeadModel or "
                                       "LlamaForCausalLM");
  if (json.has("quantization_config"))
    throw json.error("quantization_config", "is not supported: use a model whose weights are not quantised");
  if (json.has("is_causal") && !json.boolean("is_causal"))
    throw json.error("is_causal", "false is not supported: use a model that sees no later tokens");
  LanguageModelConfig config = type == "gpt2" ? gpt2(json) : llama(json);
  config.special_tokens.clear();
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (const auto found = json.json().find(key); found != json.json().end()) {
      const auto is_id = [](const nlohmann::json& value) { return value.is_number_integer(); };
      const bool several =
          found->is_array() && std::string_view(key) == "eos_token_id" && std::ranges::all_of(*found, is_id);
      if (!found->is_null() && !is_id(*found) && !several)
        throw json.error(key,
                         "must be a token's number" +
                             std::string(std::string_view(key) == "eos_token_id" ? ", a list of them" : "") +
                             " or null, not " + io::json_in_words(*found) + ": correct it");
      config.special_tokens.emplace(key, found->dump());
    }
  try {
    config.check();
  } catch (const InputError& wrong) {
    throw io::file_error(file, wrong.what());
  }
  return config;
}

void LanguageModelConfig::check() const {
  const auto require = [](bool holds, const std::string& rule) {
    if (!holds) throw InputError("the model's sizes do not fit: " + rule);
  };
  require(heads >= 1 && heads_kv >= 1 && heads % heads_kv == 0,
          std::to_string(heads) + " heads are not a multiple of " + std::to_string(heads_kv) +
              " heads of keys and values");
  require(head_width >= 1, "heads are less than one value wide");
  if (architecture == Architecture::gpt2)
    require(heads * head_width == width,
            std::to_string(heads) + " heads do not divide a width of " + std::to_string(width));
  else
    require(head_width % 2 == 0,
            "rotary embeddings rotate pairs, and heads are " + std::to_string(head_width) + " wide");
}

double LanguageModelConfig::score_scale(std::int64_t layer) const {
  const double of_width = scale_scores ? 1 / std::sqrt(static_cast<double>(head_width)) : 1;
  return scale_scores_by_layer ? of_width / static_cast<double>(layer + 1) : of_width;
}

std::string LanguageModelConfig::json() const {
  using io::Json;
  Json all;
  if (architecture == Architecture::gpt2)
    all = {{"architectures", {"GPT2LMHeadModel"}},
           {"model_type", "gpt2"},
           {"vocab_size", vocabulary},
           {"n_positions", positions},
           {"n_embd", width},
           {"n_layer", layers},
           {"n_head", heads},
           {"n_inner", inner},
           {"activation_function", activation == ActivationFunction::gelu_erf ? "gelu" : "gelu_new"},
           {"layer_norm_epsilon", norm_eps},
           {"attn_pdrop", 0.0},
           {"embd_pdrop", 0.0},
           {"resid_pdrop", 0.0}};
  else {
    all = {{"architectures", {"LlamaForCausalLM"}},
           {"model_type", "llama"},
           {"vocab_size", vocabulary},
           {"max_position_embeddings", positions},
           {"hidden_size", width},
           {"num_hidden_layers", layers},
           {"num_attention_heads", heads},
           {"num_key_value_heads", heads_kv},
           {"head_dim", head_width},
           {"intermediate_size", inner},
           {"hidden_act", "silu"},
           {"rms_norm_eps", norm_eps},
           {"rope_theta", rope_theta},
           {"attention_bias", attention_bias},
           {"mlp_bias", mlp_bias}};
    Json rope = {{"rope_type", to_string(rotary_scaling.kind)}};
    if (rotary_scaling.kind != RotaryScalingKind::none) rope["factor"] = rotary_scaling.factor;
    if (rotary_scaling.kind == RotaryScalingKind::llama3) {
      rope["low_freq_factor"] = rotary_scaling.low_frequency_factor;
      rope["high_freq_factor"] = rotary_scaling.high_frequency_factor;
      rope["original_max_position_embeddings"] = rotary_scaling.original_positions;
    }
    if (rotary_scaling.kind == RotaryScalingKind::yarn) {
      rope["beta_fast"] = rotary_scaling.beta_fast;
      rope["beta_slow"] = rotary_scaling.beta_slow;
      rope["truncate"] = rotary_scaling.truncate;
      rope["attention_factor"] = rotary_scaling.attention_factor;
      rope["original_max_position_embeddings"] = rotary_scaling.original_positions;
    }
    if (rotary_scaling.kind != RotaryScalingKind::none) all["rope_scaling"] = rope;  // before transformers 5
    rope["rope_theta"] = rope_theta;
    all["rope_parameters"] = rope;
  }
  // Checkpoints are compared with this text: defaults stay out of it.
  if (!scale_scores) all["scale_attn_weights"] = false;
  if (scale_scores_by_layer) all["scale_attn_by_inverse_layer_idx"] = true;
  all["tie_word_embeddings"] = tied;
  for (const auto& [key, value] : special_tokens) all[key] = Json::parse(value);
  return io::indented_json(all) + "\n";
}

}  // namespace precast::language_model
