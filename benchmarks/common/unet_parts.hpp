// A UNet as work: its tensors and operations, and a prompt.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include <common/random_tensor.hpp>
#include <common/work.hpp>
#include <stable_diffusion/unet_tensors.hpp>
#include <support/random_model.hpp>

namespace precast::bench {

inline constexpr std::int64_t prompt_tokens = 77;

namespace detail {

/// The level that a tensor's op writes, counted from the latents' size.
inline std::int64_t level_of(std::string_view name, std::int64_t levels) {
  const std::string_view blocks[] = {"down_blocks.", "up_blocks."};
  for (const std::string_view block : blocks) {
    if (!name.starts_with(block)) continue;
    std::int64_t index = 0;
    std::from_chars(name.data() + block.size(), name.data() + name.size(), index);
    if (block == blocks[0]) return index + (name.find("downsamplers") != std::string_view::npos ? 1 : 0);
    return levels - 1 - index - (name.find("upsamplers") != std::string_view::npos ? 1 : 0);
  }
  return name.starts_with("mid_block.") ? levels - 1 : 0;
}

}  // namespace detail

/// The products of a prediction: linear layers, and convolutions as products with patches.
inline Work work_of_unet(const stable_diffusion::UNetConfig& config, std::int64_t side) {
  Work work;
  const auto levels = std::ssize(config.levels);
  for (const auto& [name, shape] : stable_diffusion::unet_tensors(config)) {
    work.parameters += static_cast<double>(shape.elements());
    if (shape.rank() < 2) continue;
    const std::int64_t level = detail::level_of(name, levels), there = side >> level, pixels = there * there;
    if (name.find("attn2.to_k") != std::string::npos || name.find("attn2.to_v") != std::string::npos)
      continue;  // of the prompt
    const bool of_picture =
        name.find("time_emb") == std::string::npos && name.find("add_embedding") == std::string::npos;
    work.layers.push_back({of_picture ? pixels : 1, shape.elements() / shape[0], shape[0]});
    if (name.find("to_q") != std::string::npos)  // scores and their sums of values
      work.other_products +=
          4.0 * static_cast<double>(pixels * shape[0]) *
          static_cast<double>(name.find("attn2") != std::string::npos ? prompt_tokens : pixels);
  }
  return work;
}

inline testing::TensorShapes tensors_of_unet(const stable_diffusion::UNetConfig& config) {
  testing::TensorShapes shapes;
  for (const auto& [name, shape] : stable_diffusion::unet_tensors(config)) shapes.emplace(name, shape);
  return shapes;
}

/// What one picture is conditioned on: random values, in the host's memory.
class RandomPrompt {
 public:
  RandomPrompt(const stable_diffusion::UNetConfig& config, std::int64_t picture)
      : context_(to_host(random_tensor<f32>({prompt_tokens, config.context_width}))) {
    if (!config.text_time) return;
    pooled_ = to_host(random_tensor<f32>({1, config.text_time_width - 6 * config.time_id_channels}));
    side_ = static_cast<f32>(picture);
  }
  /// Views of this.
  stable_diffusion::Conditioning conditioning() const {
    stable_diffusion::Conditioning prompt{.context = context_.view()};
    if (pooled_.elements() == 0) return prompt;
    prompt.pooled = pooled_.view();
    prompt.time_ids = {side_, side_, 0, 0, side_, side_};
    return prompt;
  }

 private:
  HostTensor<f32> context_, pooled_;
  f32 side_ = 0;
};

}  // namespace precast::bench
