#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <string_view>

#include <language_model/parameters.hpp>
#include <sampling/torch_random.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/dtype/convert_value.hpp>
#include <precast/error.hpp>
#include <precast/io/component_source.hpp>
#include <precast/io/message.hpp>

namespace precast::language_model {

namespace {

constexpr double usual_deviation = 0.02;
constexpr const char* head = "lm_head.weight";

/// The name of a parameter in a file of GPT2Model or LlamaModel, which lack the head and its prefix.
std::string name_without_head(const std::string& name) {
  for (const std::string_view prefix : {"transformer.", "model."})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

/// The name of a parameter in this source.
std::string name_in(const io::ComponentSource& source, const ParameterFacts& facts) {
  return source.contains(facts.name) ? facts.name : name_without_head(facts.name);
}

/// The values of a tensor as f32; f64 is rounded once.
std::vector<f32> values_of_entry(const io::ComponentSource& source, const io::TensorEntry& entry) {
  if (weights::holds_numbers(entry)) return weights::values_of(entry);
  if (entry.dtype.file_name != "F64")
    throw InputError(source.description() + ": tensor '" + io::printable(entry.name) + "' has dtype " +
                     std::string(entry.dtype.file_name) +
                     " where F32, BF16, F16 or fp8 is expected: convert the file");
  std::vector<f32> values(static_cast<std::size_t>(entry.shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    double value = 0;
    std::memcpy(&value, entry.bytes.data() + i * sizeof value, sizeof value);
    values[i] = static_cast<f32>(value);
  }
  return values;
}

ParameterFacts matrix(std::string name, std::int64_t rows, std::int64_t columns) {
  return {.name = std::move(name), .shape = Shape{rows, columns}, .deviation = usual_deviation};
}
ParameterFacts transposed_matrix(std::string name, std::int64_t rows, std::int64_t columns,
                                 double deviation) {
  return {.name = std::move(name), .shape = Shape{rows, columns}, .transposed = true, .deviation = deviation};
}
ParameterFacts vector(std::string name, std::int64_t size, f32 value) {
  return {.name = std::move(name), .shape = Shape{size}, .first_value = value};
}

std::vector<ParameterFacts> gpt2(const LanguageModelConfig& c) {
  const double into_residual = usual_deviation / std::sqrt(2.0 * static_cast<double>(c.layers));
  std::vector<ParameterFacts> all{matrix("transformer.wte.weight", c.vocabulary, c.width),
                                  matrix("transformer.wpe.weight", c.positions, c.width)};
  const auto norm = [&](const std::string& name) {
    all.push_back(vector(name + ".weight", c.width, 1));
    all.push_back(vector(name + ".bias", c.width, 0));
  };
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, double deviation) {
    all.push_back(transposed_matrix(name + ".weight", out, in, deviation));
    all.push_back(vector(name + ".bias", out, 0));
  };
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = "transformer.h." + std::to_string(i) + ".";
    norm(layer + "ln_1");
    linear(layer + "attn.c_attn", 3 * c.width, c.width, usual_deviation);
    linear(layer + "attn.c_proj", c.width, c.width, into_residual);
    norm(layer + "ln_2");
    linear(layer + "mlp.c_fc", c.inner, c.width, usual_deviation);
    linear(layer + "mlp.c_proj", c.width, c.inner, into_residual);
  }
  norm("transformer.ln_f");
  if (!c.tied) all.push_back(matrix("lm_head.weight", c.vocabulary, c.width));
  return all;
}

std::vector<ParameterFacts> llama(const LanguageModelConfig& c) {
  std::vector<ParameterFacts> all{matrix("model.embed_tokens.weight", c.vocabulary, c.width)};
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    all.push_back(matrix(name + ".weight", out, in));
    if (bias) all.push_back(vector(name + ".bias", out, 0));
  };
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const std::int64_t queries = c.heads * c.head_width, keys = c.heads_kv * c.head_width;
    all.push_back(vector(layer + "input_layernorm.weight", c.width, 1));
    linear(layer + "self_attn.q_proj", queries, c.width, c.attention_bias);
    linear(layer + "self_attn.k_proj", keys, c.width, c.attention_bias);
    linear(layer + "self_attn.v_proj", keys, c.width, c.attention_bias);
    linear(layer + "self_attn.o_proj", c.width, queries, c.attention_bias);
    all.push_back(vector(layer + "post_attention_layernorm.weight", c.width, 1));
    linear(layer + "mlp.gate_proj", c.inner, c.width, c.mlp_bias);
    linear(layer + "mlp.up_proj", c.inner, c.width, c.mlp_bias);
    linear(layer + "mlp.down_proj", c.width, c.inner, c.mlp_bias);
  }
  all.push_back(vector("model.norm.weight", c.width, 1));
  if (!c.tied) all.push_back(matrix("lm_head.weight", c.vocabulary, c.width));
  return all;
}

}  // namespace

std::vector<ParameterFacts> parameters_of(const LanguageModelConfig& config) {
  return config.architecture == Architecture::gpt2 ? gpt2(config) : llama(config);
}

std::int64_t elements_of(const LanguageModelConfig& config) {
  std::int64_t elements = 0;
  for (const ParameterFacts& facts : parameters_of(config)) elements += facts.shape.elements();
  return elements;
}

ParameterValues initial_values(const std::vector<ParameterFacts>& parameters, std::uint64_t seed) {
  sampling::TorchGenerator generator(seed);
  ParameterValues all;
  for (const ParameterFacts& facts : parameters) {
    std::vector<f32>& values = all.emplace_back(static_cast<std::size_t>(facts.shape.elements()));
    if (facts.deviation == 0) {
      std::fill(values.begin(), values.end(), facts.first_value);
      continue;
    }
    const Tensor<f32> drawn = generator.randn<f32>(facts.shape);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = drawn.data()[i] * static_cast<f32>(facts.deviation);
  }
  return all;
}

ParameterValues read_values(const std::filesystem::path& folder, const LanguageModelConfig& config) {
  const io::ComponentSource source(folder);
  const weights::WeightTensors tensors(source, "");
  // A weight with scales is dequantised.
  const auto scaled = [&](const std::string& name) {
    const weights::WeightTensor* const found = tensors.lookup(name);
    return found && found->decoding ? found : nullptr;
  };
  const auto values_of = [&](const std::string& name) {
    if (const weights::WeightTensor* const whole = scaled(name)) {
      std::vector<f32> values(static_cast<std::size_t>(whole->shape.elements()));
      whole->decoding->decode(0, values);
      return values;
    }
    return values_of_entry(source, *source.lookup(name));
  };
  ParameterValues all;
  for (const ParameterFacts& facts : parameters_of(config)) {
    const std::string name = name_in(source, facts);
    const weights::WeightTensor* const whole = scaled(name);
    const Shape shape = whole ? whole->shape : source.find(source.contains(name) ? name : facts.name).shape;
    if (shape != facts.stored_shape())
      throw InputError(source.description() + ": tensor '" + name + "' has shape " + to_string(shape) +
                       " where the config asks for " + to_string(facts.stored_shape()) +
                       ": the weights and the config belong to different models");
    std::vector<f32> values = values_of(name);
    all.push_back(facts.transposed ? turned(values, shape) : std::move(values));
  }
  // transformers would train them separately. Compares bits, so that NaN equals itself.
  const auto same_bits = [](const std::vector<f32>& a, const std::vector<f32>& b) {
    return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
  };
  if (config.tied && source.contains(head) && !same_bits(values_of(head), all.front()))
    throw InputError(source.description() + ": tensor '" + head +
                     "' differs from the embeddings, and the config ties them: set its key "
                     "'tie_word_embeddings' to false");
  return all;
}

std::vector<std::string> unread_tensors(const std::filesystem::path& folder,
                                        const LanguageModelConfig& config) {
  const io::ComponentSource source(folder);
  std::set<std::string, std::less<>> read{head};  // a tied head is read for the comparison
  for (const ParameterFacts& facts : parameters_of(config)) read.insert(name_in(source, facts));
  // Buffers in older files: GPT-2's masks and Llama's frequencies.
  const auto is_buffer = [](const std::string& name) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
           name.ends_with(".rotary_emb.inv_freq");
  };
  const weights::WeightTensors tensors(source, "");
  std::vector<std::string> unread;
  for (const auto& [name, weight] : tensors.all())
    if (!read.contains(name) && !is_buffer(name)) unread.push_back(name);
  return unread;
}

std::vector<f32> turned(const std::vector<f32>& values, const Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
  std::vector<f32> result(values.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      result[column * rows + row] = values[row * columns + column];
  return result;
}

}  // namespace precast::language_model
