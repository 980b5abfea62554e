// Tells entry and exit layers, norms, biases and embeddings by their names, in both namings of Flux and of
// UNets.
#include <algorithm>
#include <array>

#include <convert/tensor_role.hpp>
#include <weights/layouts.hpp>

namespace precast::conversion {

namespace {

/// Flux's layers at its two ends, as its authors name them and as diffusers does.
constexpr std::array<std::string_view, 11> flux_ends{
    "img_in.",     "txt_in.",           "time_in.",         "vector_in.", "guidance_in.", "final_layer.",
    "x_embedder.", "context_embedder.", "time_text_embed.", "proj_out.",  "norm_out."};

/// Layers by which time, size and class enter a UNet, as its authors name them and as diffusers does; its
/// first and last layer are convolutions.
constexpr std::array<std::string_view, 5> unet_entries{"time_embed.", "label_emb.", "time_embedding.",
                                                       "add_embedding.", "class_embedding."};

/// The exit of language models whose head is not their embedding.
constexpr std::string_view language_model_head = "lm_head.weight";

/// The last three are GPT-2's and OpenCLIP's.
constexpr std::array<std::string_view, 9> embeddings{"shared.weight",
                                                     "embed_tokens.weight",
                                                     "token_embd.weight",
                                                     "token_embedding.weight",
                                                     "position_embedding.weight",
                                                     "relative_attention_bias.weight",
                                                     "wte.weight",
                                                     "wpe.weight",
                                                     "positional_embedding"};

/// Prefixes of the text encoders in Stable Diffusion's files, all of which are CLIPs.
constexpr std::array<std::string_view, 2> clips{"cond_stage_model.", "conditioner."};

bool has(const InputWeights& weights, std::string_view begin, std::string_view end) {
  return std::ranges::any_of(weights.tensors(), [&](const InputTensor& tensor) {
    return weights::without_prefix(tensor.name).starts_with(begin) && tensor.name.ends_with(end);
  });
}

/// Whether the part has a prefix, and something in the file has not: another part of a model.
bool is_among_others(const InputWeights& weights, weights::Part part) {
  const auto is_behind_prefix = [&](const InputTensor& tensor) {
    return weights::without_prefix(tensor.name, part) != tensor.name;
  };
  return std::ranges::any_of(weights.tensors(), is_behind_prefix) &&
         !std::ranges::all_of(weights.tensors(), is_behind_prefix);
}

}  // namespace

WeightsKind kind_of(const InputWeights& weights) {
  if (has(weights, "double_blocks.", ".img_attn.proj.weight")) return WeightsKind::flux;
  if (has(weights, "transformer_blocks.", ".attn.add_q_proj.weight"))
    return weights.differs_from_flux() ? WeightsKind::flux_relative : WeightsKind::flux;
  if (has(weights, "input_blocks.", ".0.in_layers.2.weight")) return WeightsKind::ldm_unet;
  if ((has(weights, "encoder.block.", ".SelfAttention.q.weight") ||
       has(weights, "enc.blk.", ".attn_q.weight")) &&
      !is_among_others(weights, weights::Part::t5) && !is_among_others(weights, weights::Part::clip))
    return WeightsKind::t5;
  if (has(weights, "", ".self_attn.q_proj.weight") && has(weights, "", "position_embedding.weight"))
    return WeightsKind::clip;
  if (has(weights, "decoder.", "conv_in.weight") && !is_among_others(weights, weights::Part::autoencoder))
    return WeightsKind::autoencoder;
  return WeightsKind::other;
}

bool is_of_small_component(std::string_view name) {
  using weights::Part;
  const auto has_prefix_of = [&](Part part) { return weights::without_prefix(name, part) != name; };
  return has_prefix_of(Part::clip) || has_prefix_of(Part::autoencoder) ||
         (has_prefix_of(Part::second_clip) && !has_prefix_of(Part::t5)) ||
         std::ranges::any_of(clips, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_bias(std::string_view name, const Shape& shape) {
  return shape.rank() <= 1 && name.ends_with(".bias");
}

std::string_view precise_because(WeightsKind kind, std::string_view name, const Shape& shape) {
  if (is_bias(name, shape)) return "bias";
  const auto wide = std::ranges::count_if(shape.sizes(), [](std::int64_t size) { return size != 1; });
  if (wide < 2) return "norm scale or other 1-D tensor";
  if (shape.rank() > 2) return "convolution";
  const std::string_view plain = weights::without_prefix(name);
  if ((kind == WeightsKind::flux || kind == WeightsKind::flux_relative) &&
      std::ranges::any_of(flux_ends, [&](std::string_view end) { return plain.starts_with(end); }))
    return "entry or exit layer";
  if ((kind == WeightsKind::ldm_unet || kind == WeightsKind::other) &&
      std::ranges::any_of(unet_entries, [&](std::string_view entry) { return plain.starts_with(entry); }))
    return "entry or exit layer";
  if (plain == language_model_head) return "entry or exit layer";
  if (std::ranges::any_of(embeddings, [&](std::string_view end) { return plain.ends_with(end); }) ||
      plain.ends_with("attn_rel_b.weight"))
    return "embedding";
  return {};
}

}  // namespace precast::conversion
