// Weights for configs of any size, without a download: names and shapes as diffusers and transformers save
// them, and values from one short run of random numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <flux/transformer.hpp>
#include <nlohmann/json.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::testing {

using TensorShapes = std::map<std::string, Shape, std::less<>>;

namespace detail {

/// Adds tensors under a dotted place.
class Listing {
 public:
  explicit Listing(TensorShapes& shapes) : shapes_(shapes) {}

  void tensor(const std::string& name, const Shape& shape) { shapes_.emplace(name, shape); }
  void linear(const std::string& place, std::int64_t in, std::int64_t out, bool bias = true) {
    tensor(place + ".weight", {out, in});
    if (bias) tensor(place + ".bias", {out});
  }
  void conv(const std::string& place, std::int64_t in, std::int64_t out, std::int64_t kernel) {
    tensor(place + ".weight", {out, in, kernel, kernel});
    tensor(place + ".bias", {out});
  }
  void norm(const std::string& place, std::int64_t size, bool bias = true) {
    tensor(place + ".weight", {size});
    if (bias) tensor(place + ".bias", {size});
  }

 private:
  TensorShapes& shapes_;
};

inline void list_residual(Listing& list, const std::string& place, std::int64_t in, std::int64_t out) {
  list.norm(place + ".norm1", in);
  list.conv(place + ".conv1", in, out, 3);
  list.norm(place + ".norm2", out);
  list.conv(place + ".conv2", out, out, 3);
  if (in != out) list.conv(place + ".conv_shortcut", in, out, 1);
}

inline void list_autoencoder_half(Listing& list, const std::string& half,
                                  const vae::AutoencoderConfig& config, bool encoder) {
  const auto& channels = config.block_out_channels;
  const std::int64_t levels = static_cast<std::int64_t>(channels.size()), widest = channels.back();
  list.conv(half + ".conv_in", encoder ? 3 : config.latent_channels, encoder ? channels.front() : widest, 3);
  list.norm(half + ".conv_norm_out", encoder ? widest : channels.front());
  list.conv(half + ".conv_out", encoder ? widest : channels.front(), encoder ? 2 * config.latent_channels : 3,
            3);
  for (const char* name : {".mid_block.resnets.0", ".mid_block.resnets.1"})
    list_residual(list, half + name, widest, widest);
  if (config.mid_block_add_attention) {
    list.norm(half + ".mid_block.attentions.0.group_norm", widest);
    for (const char* name : {"to_q", "to_k", "to_v", "to_out.0"})
      list.linear(half + ".mid_block.attentions.0." + name, widest, widest);
  }
  std::int64_t before = encoder ? channels.front() : widest;
  for (std::int64_t i = 0; i < levels; ++i) {
    const std::int64_t after = channels[static_cast<std::size_t>(encoder ? i : levels - 1 - i)];
    const std::string level = half + (encoder ? ".down_blocks." : ".up_blocks.") + std::to_string(i);
    for (std::int64_t j = 0; j < config.layers_per_block + (encoder ? 0 : 1); ++j)
      list_residual(list, level + ".resnets." + std::to_string(j), j == 0 ? before : after, after);
    if (i + 1 < levels)
      list.conv(level + (encoder ? ".downsamplers.0.conv" : ".upsamplers.0.conv"), after, after, 3);
    before = after;
  }
}

}  // namespace detail

inline TensorShapes tensors_of(const flux::TransformerConfig& config) {
  TensorShapes shapes;
  detail::Listing list(shapes);
  const std::int64_t d = config.inner_dim();
  list.linear("x_embedder", config.in_channels, d);
  list.linear("context_embedder", config.joint_attention_dim, d);
  const auto embedder = [&](const std::string& name, std::int64_t in) {
    list.linear("time_text_embed." + name + ".linear_1", in, d);
    list.linear("time_text_embed." + name + ".linear_2", d, d);
  };
  embedder("timestep_embedder", 256);
  if (config.guidance_embeds) embedder("guidance_embedder", 256);
  embedder("text_embedder", config.pooled_projection_dim);
  list.linear("norm_out.linear", d, 2 * d);
  list.linear("proj_out", d, config.out_channels);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const std::string block = "transformer_blocks." + std::to_string(i);
    for (const char* norm : {".norm1.linear", ".norm1_context.linear"}) list.linear(block + norm, d, 6 * d);
    for (const char* name :
         {"to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"})
      list.linear(block + ".attn." + name, d, d);
    for (const char* name : {"norm_q", "norm_k", "norm_added_q", "norm_added_k"})
      list.norm(block + ".attn." + name, config.attention_head_dim, false);
    for (const char* name : {".ff", ".ff_context"}) {
      list.linear(block + name + ".net.0.proj", d, 4 * d);
      list.linear(block + name + ".net.2", 4 * d, d);
    }
  }
  for (std::int64_t i = 0; i < config.num_single_layers; ++i) {
    const std::string block = "single_transformer_blocks." + std::to_string(i);
    list.linear(block + ".norm.linear", d, 3 * d);
    for (const char* name : {"to_q", "to_k", "to_v"}) list.linear(block + ".attn." + name, d, d);
    for (const char* name : {"norm_q", "norm_k"})
      list.norm(block + ".attn." + name, config.attention_head_dim, false);
    list.linear(block + ".proj_mlp", d, 4 * d);
    list.linear(block + ".proj_out", 5 * d, d);
  }
  return shapes;
}

inline TensorShapes tensors_of(const text::ClipConfig& config) {
  TensorShapes shapes;
  detail::Listing list(shapes);
  const std::int64_t h = config.hidden_size;
  list.tensor("text_model.embeddings.token_embedding.weight", {config.vocab_size, h});
  list.tensor("text_model.embeddings.position_embedding.weight", {config.max_position_embeddings, h});
  list.norm("text_model.final_layer_norm", h);
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const std::string layer = "text_model.encoder.layers." + std::to_string(i);
    for (const char* name : {".layer_norm1", ".layer_norm2"}) list.norm(layer + name, h);
    for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"})
      list.linear(layer + ".self_attn." + name, h, h);
    list.linear(layer + ".mlp.fc1", h, config.intermediate_size);
    list.linear(layer + ".mlp.fc2", config.intermediate_size, h);
  }
  return shapes;
}

inline TensorShapes tensors_of(const text::T5Config& config) {
  TensorShapes shapes;
  detail::Listing list(shapes);
  list.tensor("shared.weight", {config.vocab_size, config.d_model});
  list.norm("encoder.final_layer_norm", config.d_model, false);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const std::string layer = "encoder.block." + std::to_string(i) + ".layer.";
    for (const char* name : {"q", "k", "v"})
      list.linear(layer + "0.SelfAttention." + name, config.d_model, config.inner(), false);
    list.linear(layer + "0.SelfAttention.o", config.inner(), config.d_model, false);
    if (i == 0)
      list.tensor(layer + "0.SelfAttention.relative_attention_bias.weight",
                  {config.relative_attention_num_buckets, config.num_heads});
    for (const char* name : {"0.layer_norm", "1.layer_norm"}) list.norm(layer + name, config.d_model, false);
    list.linear(layer + "1.DenseReluDense." + (config.gated ? "wi_0" : "wi"), config.d_model, config.d_ff,
                false);
    if (config.gated) list.linear(layer + "1.DenseReluDense.wi_1", config.d_model, config.d_ff, false);
    list.linear(layer + "1.DenseReluDense.wo", config.d_ff, config.d_model, false);
  }
  return shapes;
}

inline TensorShapes tensors_of(const vae::AutoencoderConfig& config) {
  TensorShapes shapes;
  detail::Listing list(shapes);
  detail::list_autoencoder_half(list, "encoder", config, true);
  detail::list_autoencoder_half(list, "decoder", config, false);
  if (config.use_quant_conv)
    list.conv("quant_conv", 2 * config.latent_channels, 2 * config.latent_channels, 1);
  if (config.use_post_quant_conv)
    list.conv("post_quant_conv", config.latent_channels, config.latent_channels, 1);
  return shapes;
}

/// Normal values of a standard deviation that keeps layers of a few thousand inputs near 1.
template <ScalarDtype T>
std::vector<T> random_values(std::size_t count) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<T> values(count);
  for (T& value : values) value = convert<T>(normal(engine));
  return values;
}

/// A source of tensors that all view the same random numbers, so that weights of any depth take the memory
/// of the largest.
template <ScalarDtype T>
class RandomSource final : public nn::ParameterSource {
 public:
  explicit RandomSource(TensorShapes shapes) : shapes_(std::move(shapes)) {
    std::int64_t most = 1;
    for (const auto& [name, shape] : shapes_) most = std::max(most, shape.elements());
    const std::vector<T> values = random_values<T>(65521);  // a prime, so that rows differ
    values_.resize(static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = values[i % values.size()];
  }
  bool contains(std::string_view name) const override { return shapes_.contains(name); }
  nn::Parameter find(std::string_view name) const override {
    const auto found = shapes_.find(name);
    if (found == shapes_.end()) throw InputError("random weights: no tensor '" + std::string(name) + "'");
    taken_.insert(found->first);
    return {dtype_info<T>, found->second,
            std::as_bytes(std::span(values_).first(static_cast<std::size_t>(found->second.elements())))};
  }
  std::string description() const override { return "random weights"; }
  void taken(std::size_t) const override {}
  /// Whether a module has asked for every tensor.
  bool all_taken() const { return taken_.size() == shapes_.size(); }

 private:
  TensorShapes shapes_;
  std::vector<T> values_;
  mutable std::set<std::string> taken_;
};

/// Writes a safetensors file of such tensors, a piece at a time.
template <ScalarDtype T>
void write_random_weights(const std::filesystem::path& file, const TensorShapes& shapes,
                          const std::string& dtype) {
  nlohmann::json header = nlohmann::json::object();
  std::int64_t end = 0;
  for (const auto& [name, shape] : shapes) {
    const std::int64_t begin = end;
    end += bytes_for<T>(shape.elements());
    header[name] = {{"dtype", dtype}, {"shape", shape.sizes()}, {"data_offsets", {begin, end}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(&length), sizeof length);
  stream << text;
  const std::vector<T> values = random_values<T>(1048573);
  for (std::int64_t left = end; left > 0;) {
    const auto piece = std::min<std::int64_t>(left, static_cast<std::int64_t>(values.size() * sizeof(T)));
    stream.write(reinterpret_cast<const char*>(values.data()), piece);
    left -= piece;
  }
  if (!stream.flush()) throw Error("could not write " + file.string());
}

}  // namespace precast::testing
