// Compares the names of tensors with what configs describe.
#include <set>
#include <string_view>

#include <stable_diffusion/unet_tensors.hpp>
#include <stable_diffusion/unread_tensors.hpp>
#include <text/clip_names.hpp>
#include <vae/original_names.hpp>
#include <weights/component_facts.hpp>

namespace precast::stable_diffusion {

namespace {

/// The stored names of unread tensors, each once: several parameters may share one tensor.
template <class IsRead>
std::vector<std::string> others(const ComponentWeights& weights, IsRead&& is_read) {
  std::set<std::string> names(weights.unread().begin(), weights.unread().end());
  for (const std::string& name : weights.names())
    if (!is_read(name)) names.insert(weights.stored_name(name));
  return {names.begin(), names.end()};
}

/// Whether a name does not begin with `stem`, or has a number below `count` after it.
bool is_among(std::string_view name, std::string_view stem, std::int64_t count) {
  const std::int64_t number = weights::number_after(name, stem);
  return !name.starts_with(stem) || (number >= 0 && number < count);
}

}  // namespace

std::vector<std::string> unread_tensors(const ComponentWeights& weights, const UNetConfig& config) {
  std::set<std::string, std::less<>> read;
  for (UNetTensor& tensor : unet_tensors(config)) read.insert(std::move(tensor.name));
  return others(weights, [&](std::string_view name) { return read.contains(name); });
}

std::vector<std::string> unread_tensors(const ComponentWeights& weights, const text::ClipConfig& config) {
  const bool one_more = weights.may_have_one_more();
  return others(weights, [&](std::string_view name) {
    name = text::without_text_model(name);
    return io::their_rows(text::clip_names, name) &&
           is_among(name, "encoder.layers.", config.num_hidden_layers + one_more);
  });
}

std::vector<std::string> unread_tensors(const ComponentWeights& weights,
                                        const vae::AutoencoderConfig& config) {
  const std::int64_t levels = std::ssize(config.block_out_channels);
  return others(weights, [&](std::string_view name) {
    if (!io::their_rows(vae::original_names, name, levels)) return false;
    if (name.starts_with("quant_conv.")) return config.use_quant_conv;
    if (name.starts_with("post_quant_conv.")) return config.use_post_quant_conv;
    if (name.find(".mid_block.attentions.") != name.npos) return config.mid_block_add_attention;
    for (const auto& [side, layers] : {std::pair("encoder.down_blocks.", config.layers_per_block),
                                       std::pair("decoder.up_blocks.", config.layers_per_block + 1)}) {
      if (!is_among(name, side, levels)) return false;
      for (std::int64_t level = 0; level < levels; ++level)
        if (!is_among(name, side + std::to_string(level) + ".resnets.", layers)) return false;
    }
    return true;
  });
}

}  // namespace precast::stable_diffusion
