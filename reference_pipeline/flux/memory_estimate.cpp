// Counts parameters and the tensors that are alive at once.
#include <algorithm>
#include <cstdio>
#include <string>
#include <type_traits>

#include <flux/memory_estimate.hpp>

#include <precast/host/onednn.hpp>
#include <precast/host/tiled_operands.hpp>
#include <precast/io/message.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/visit.hpp>

namespace precast::flux {

namespace {

/// Bytes of a value under a policy.
struct Widths {
  std::int64_t storage = 4;     ///< of a parameter at rest
  std::int64_t activation = 4;  ///< between ops
  std::int64_t product =
      0;  ///< of an input's copy as a product multiplies it; 0 where that is the input itself
  std::int64_t convolution = 0;  ///< the same for 1x1 convolutions
  std::int64_t conv_weight = 4;  ///< of a convolution's weight, rearranged
  std::int64_t attention = 4;    ///< of a key or value as attention packs it
};

/// Bytes of a value as the host multiplies it.
template <class Types>
std::int64_t multiplied_width() {
  return host::in_multiplied_dtype<Types>(
      [](auto multiplied) { return static_cast<std::int64_t>(sizeof multiplied); });
}

template <class Types>
std::int64_t copy_width() {
  const std::int64_t width = multiplied_width<Types>();
  if (host::multiplies_in_tiles<Types>()) return width;
  return width == sizeof(typename Types::result) ? 0 : width;
}

Widths widths_of(const PolicyChoice& choice) {
  return visit_policy<Widths>(choice, [](auto path) {
    using P = typename decltype(path)::policy;
    return Widths{sizeof(typename P::storage),
                  sizeof(typename P::activation),
                  copy_width<precisions<P, Matmul>>(),
                  copy_width<precisions<P, Conv>>(),
                  multiplied_width<precisions<P, Conv>>(),
                  multiplied_width<precisions<P, Attention>>()};
  });
}

/// A component of so many parameters and bytes of results, with a margin for biases, which are held in f32,
/// for what allocation rounds up, for small results, and for what threads hold of an op while they run it.
ComponentMemory component(const char* name, std::int64_t parameters, const Widths& w, std::int64_t results) {
  const std::int64_t weights = parameters * w.storage;
  return {name, weights, results + results / 16 + weights / 256 + (1 << 20)};
}

std::int64_t linear(std::int64_t in, std::int64_t out) { return in * out + out; }

std::int64_t parameters(const TransformerConfig& c) {
  const std::int64_t d = c.inner_dim();
  const std::int64_t embedder = linear(256, d) + linear(d, d);
  const std::int64_t double_block = 2 * (linear(d, 6 * d) + 4 * linear(d, d) + 2 * c.attention_head_dim +
                                         linear(d, 4 * d) + linear(4 * d, d));
  const std::int64_t single_block =
      linear(d, 3 * d) + 3 * linear(d, d) + 2 * c.attention_head_dim + linear(d, 4 * d) + linear(5 * d, d);
  return linear(c.in_channels, d) + linear(c.joint_attention_dim, d) +
         embedder * (c.guidance_embeds ? 2 : 1) + linear(c.pooled_projection_dim, d) + linear(d, d) +
         c.num_layers * double_block + c.num_single_layers * single_block + linear(d, 2 * d) +
         linear(d, c.out_channels);
}

std::int64_t parameters(const text::ClipConfig& c) {
  const std::int64_t h = c.hidden_size;
  const std::int64_t layer =
      4 * linear(h, h) + linear(h, c.intermediate_size) + linear(c.intermediate_size, h) + 4 * h;
  return (c.vocab_size + c.max_position_embeddings) * h + c.num_hidden_layers * layer + 2 * h;
}

std::int64_t parameters(const text::T5Config& c) {
  const std::int64_t layer =
      4 * c.d_model * c.inner() + (c.gated ? 3 : 2) * c.d_model * c.d_ff + 2 * c.d_model;
  return c.vocab_size * c.d_model + c.num_layers * layer + c.relative_attention_num_buckets * c.num_heads +
         c.d_model;
}

std::int64_t conv(std::int64_t in, std::int64_t out, std::int64_t kernel) {
  return in * out * kernel * kernel + out;
}

std::int64_t residual_block(std::int64_t in, std::int64_t out) {
  return conv(in, out, 3) + conv(out, out, 3) + 2 * (in + out) + (in == out ? 0 : conv(in, out, 1));
}

/// Parameters of the half of the autoencoder that is loaded.
std::int64_t parameters(const vae::AutoencoderConfig& c, bool encoder) {
  const auto& channels = c.block_out_channels;
  const std::int64_t widest = channels.back();
  std::int64_t count = 2 * residual_block(widest, widest);
  if (c.mid_block_add_attention) count += 4 * linear(widest, widest) + 2 * widest;
  const std::int64_t latent = encoder ? 2 * c.latent_channels : c.latent_channels;
  count += conv(3, channels.front(), 3) + conv(latent, widest, 3) + conv(latent, latent, 1);
  const std::int64_t blocks = c.layers_per_block + (encoder ? 0 : 1);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::int64_t neighbour =
        encoder ? channels[i ? i - 1 : 0] : channels[std::min(i + 1, channels.size() - 1)];
    count += residual_block(neighbour, channels[i]) +
             (blocks - 1) * residual_block(channels[i], channels[i]) +
             (i + 1 < channels.size() ? conv(channels[i], channels[i], 3) : 0);
  }
  return count;
}

/// Each of the following counts the tensors that are alive at once in a component's widest places.

ComponentMemory transformer_memory(const ModelFolder& model, const PolicyChoice& choice,
                                   const RunSize& size) {
  const Widths w = widths_of(choice);
  const TransformerConfig& c = model.transformer;
  const std::int64_t tokens = size.t5_tokens + size.image_tokens, d = c.inner_dim();
  // In a single block's attention: the stream, its norm, the joined result that is 5 wide, query, key, value,
  // one of them rotated, and keys and values packed. In its last projection: one result less, and the joined
  // one's copy.
  const std::int64_t values = 11 * w.activation + std::max(2 * w.attention, 5 * w.product);
  const std::int64_t rotary = tokens * c.attention_head_dim * 8;
  const std::int64_t latents = size.image_tokens * (3 * size.pictures + 2) * c.in_channels * 4;
  const std::int64_t prompts =
      size.pictures * (size.t5_tokens * c.joint_attention_dim + c.pooled_projection_dim) * 4;
  return component("transformer", parameters(c), w, tokens * d * values + rotary + latents + prompts);
}

/// An encoder layer: the stream, its norm, then query, key, value and result with keys and values packed, or
/// `branches` results of the feed-forward with the copy of one.
std::int64_t encoder_values(const Widths& w, std::int64_t width, std::int64_t inner,
                            std::int64_t feed_forward, std::int64_t branches) {
  const std::int64_t attention = inner * (4 * w.activation + std::max(2 * w.attention, w.product));
  const std::int64_t forward = feed_forward * (branches * w.activation + w.product);
  return width * (4 * w.activation + w.product) + std::max(attention, forward);
}

ComponentMemory clip_memory(const ModelFolder& model, const PolicyChoice& choice, const RunSize& size) {
  const Widths w = widths_of(choice);
  const text::ClipConfig& c = model.clip;
  const std::int64_t values =
      encoder_values(w, c.hidden_size, c.hidden_size, c.intermediate_size, 2) + 4 * c.hidden_size;
  return component("text_encoder", parameters(c), w, size.clip_tokens * values);
}

ComponentMemory t5_memory(const ModelFolder& model, const PolicyChoice& choice, const RunSize& size) {
  const Widths w = widths_of(choice);
  const text::T5Config& c = model.t5;
  const std::int64_t values = encoder_values(w, c.d_model, c.inner(), c.d_ff, c.gated ? 3 : 2);
  const std::int64_t bias = c.num_heads * size.t5_tokens * size.t5_tokens * 4;
  const std::int64_t prompts = (size.pictures + 1) * size.t5_tokens * c.d_model * 4;
  return component("text_encoder_2", parameters(c), w, size.t5_tokens * values + bias + prompts);
}

ComponentMemory vae_memory(const ModelFolder& model, const PolicyChoice& choice, const RunSize& size,
                           bool encoder) {
  const Widths w = widths_of(choice);
  const vae::AutoencoderConfig& c = model.vae;
  std::int64_t residual = 0;  // bytes for each latent
  const auto levels = static_cast<std::int64_t>(c.block_out_channels.size());
  for (std::int64_t i = 0; i < levels; ++i) {
    const std::int64_t side = c.factor() >> i;  // pixels per latent at this level
    // A decoder's level starts with the channels of the level below, already at its own resolution.
    const std::int64_t before = encoder ? std::max<std::int64_t>(i - 1, 0) : std::min(i + 1, levels - 1);
    const std::int64_t in = c.block_out_channels[static_cast<std::size_t>(before)];
    const std::int64_t out = c.block_out_channels[static_cast<std::size_t>(i)];
    // A residual block's input and two results inside it, which convolutions widen band by band; and where
    // channels change, its input as the shortcut multiplies it.
    const std::int64_t inside = 3 * std::max(in, out) * w.activation;
    const std::int64_t shortcut =
        in == out ? 0 : in * (w.activation + w.convolution) + 2 * out * w.activation;
    residual = std::max(residual, side * side * std::max(inside, shortcut));
  }
  const std::int64_t latents = size.latent_height * size.latent_width, widest = c.block_out_channels.back();
  const std::int64_t attention =
      c.mid_block_add_attention ? latents * widest * (6 * w.activation + 2 * w.attention + w.product) : 0;
  const std::int64_t pixels = latents * c.factor() * c.factor() * 3 * 12;
  const std::int64_t packed = 9 * widest * widest * w.conv_weight;
  const std::int64_t all_latents = size.pictures * latents * c.latent_channels * 12;
  return component(encoder ? "vae encoder" : "vae", parameters(c, encoder), w,
                   std::max(residual * latents, attention) + pixels + packed + all_latents);
}

std::string gib(std::int64_t bytes) {
  char text[32];
  std::snprintf(
      text, sizeof text, "%.1f %s",
      bytes >= (1 << 30) ? static_cast<double>(bytes) / (1 << 30) : static_cast<double>(bytes) / (1 << 20),
      bytes >= (1 << 30) ? "GiB" : "MiB");
  return text;
}

}  // namespace

MemoryEstimate estimate_memory(const ModelFolder& model, const ComponentChoices& choices,
                               const RunSize& size) {
  MemoryEstimate estimate;
  estimate.components.push_back(clip_memory(model, choices.text_encoder, size));
  estimate.components.push_back(t5_memory(model, choices.text_encoder, size));
  if (size.encodes_image) estimate.components.push_back(vae_memory(model, choices.vae, size, true));
  estimate.components.push_back(transformer_memory(model, choices.transformer, size));
  estimate.components.push_back(vae_memory(model, choices.vae, size, false));
  return estimate;
}

void require_memory(const ModelFolder& model, const MemoryEstimate& estimate, const ComponentChoices& choices,
                    std::optional<std::int64_t> free_bytes) {
  if (!free_bytes || estimate.peak() <= *free_bytes) return;
  const auto largest = std::max_element(estimate.components.begin(), estimate.components.end(),
                                        [](const ComponentMemory& a, const ComponentMemory& b) {
                                          return a.weights + a.activations < b.weights + b.activations;
                                        });
  const bool already_small = choices == ComponentChoices::all(preset_named("memory")->choice);
  throw OutOfMemory(io::shown(model.component(largest->component)) + ": needs " + gib(largest->weights) +
                    " for weights and " + gib(largest->activations) + " for results, " +
                    gib(estimate.peak()) + " in all, and " + gib(*free_bytes) + " are free: try " +
                    (already_small ? "" : "--preset memory, or ") + "a smaller --width and --height");
}

}  // namespace precast::flux
