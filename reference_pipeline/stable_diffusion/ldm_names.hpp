// The parameter names of Stable Diffusion's authors (LDM), mapped to diffusers' names. LDM numbers blocks
// consecutively; resampling is a block of its own or the last part of one.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <precast/io/name_table.hpp>

namespace precast::stable_diffusion {

/// The input, the output and the middle of a UNet.
inline constexpr std::array ldm_outer_names = {
    io::NameLine{"time_embed.0.*", "time_embedding.linear_1.*"},
    io::NameLine{"time_embed.2.*", "time_embedding.linear_2.*"},
    io::NameLine{"time_embed.cond_proj.*", "time_embedding.cond_proj.*"},
    io::NameLine{"label_emb.0.0.*", "add_embedding.linear_1.*"},
    io::NameLine{"label_emb.0.2.*", "add_embedding.linear_2.*"},
    io::NameLine{"input_blocks.0.0.*", "conv_in.*"},
    io::NameLine{"out.0.*", "conv_norm_out.*"},
    io::NameLine{"out.2.*", "conv_out.*"},
};

/// The layers of a residual block.
inline constexpr std::array ldm_residual_names = {
    io::NameLine{"in_layers.0.*", "norm1.*"},          io::NameLine{"in_layers.2.*", "conv1.*"},
    io::NameLine{"emb_layers.1.*", "time_emb_proj.*"}, io::NameLine{"out_layers.0.*", "norm2.*"},
    io::NameLine{"out_layers.3.*", "conv2.*"},         io::NameLine{"skip_connection.*", "conv_shortcut.*"},
};

namespace detail {

/// Removes the leading number of a name with the dot behind it, and returns it.
inline std::optional<std::int64_t> leading_number(std::string_view& name) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc{} || number < 0 || end == name.data() + name.size() || *end != '.')
    return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
  return number;
}

inline std::optional<std::string> residual_name(const std::string& place, std::string_view rest) {
  for (const io::NameLine& line : ldm_residual_names)
    if (const auto ours = io::translated(rest, line.theirs, line.ours)) return place + *ours;
  return std::nullopt;
}

/// "conv.weight" appended to `place`; nothing for other names.
inline std::optional<std::string> convolution(const std::string& place, std::string_view rest,
                                              std::string_view theirs) {
  if (const auto ours = io::translated(rest, theirs, "conv.*")) return place + *ours;
  return std::nullopt;
}

}  // namespace detail

/// Residual blocks per level on the way down, in a UNet with LDM names: those before the first
/// downsampling.
inline std::int64_t ldm_unet_layers(std::span<const std::string_view> names) {
  constexpr std::string_view blocks = "input_blocks.";
  constexpr std::int64_t most = 9999;  // bounds the count
  std::int64_t first_change = most, last = 0;
  for (const std::string_view name : names) {
    if (!name.starts_with(blocks)) continue;
    std::string_view rest = name.substr(blocks.size());
    const std::int64_t number = detail::leading_number(rest).value_or(0);
    if (number > most) continue;
    last = std::max(last, number);
    if (number > 0 && name.ends_with(".0.op.weight")) first_change = std::min(first_change, number);
  }
  return std::max<std::int64_t>(1, first_change < most ? first_change - 1 : last);
}

/// diffusers' name of a UNet's parameter with the LDM name `name`, nothing if there is none. `layers`:
/// residual blocks per level on the way down.
inline std::optional<std::string> diffusers_unet_name(std::string_view name, std::int64_t layers) {
  for (const io::NameLine& line : ldm_outer_names)
    if (auto ours = io::translated(name, line.theirs, line.ours)) return ours;
  const auto behind = [&](std::string_view start) {
    if (!name.starts_with(start)) return false;
    name.remove_prefix(start.size());
    return true;
  };
  const std::string resnets = ".resnets.", attentions = ".attentions.";
  const auto inside = [&](const std::string& block, std::int64_t layer) -> std::optional<std::string> {
    const auto part = detail::leading_number(name);
    const std::string at = std::to_string(layer) + ".";
    if (part == 0) return detail::residual_name(block + resnets + at, name);
    // Names inside transformers are the same.
    if (part == 1) return block + attentions + at + std::string(name);
    return std::nullopt;
  };
  if (behind("middle_block.")) {
    const auto part = detail::leading_number(name);
    if (part == 0) return detail::residual_name("mid_block.resnets.0.", name);
    if (part == 1) return "mid_block.attentions.0." + std::string(name);
    if (part == 2) return detail::residual_name("mid_block.resnets.1.", name);
    return std::nullopt;
  }
  if (behind("input_blocks.")) {
    const auto number = detail::leading_number(name);
    if (!number || *number == 0) return std::nullopt;
    const std::int64_t level = (*number - 1) / (layers + 1), layer = (*number - 1) % (layers + 1);
    const std::string block = "down_blocks." + std::to_string(level);
    if (layer < layers) return inside(block, layer);
    return detail::convolution(block + ".downsamplers.0.", name, "0.op.*");
  }
  if (behind("output_blocks.")) {
    const auto number = detail::leading_number(name);
    if (!number) return std::nullopt;
    const std::int64_t level = *number / (layers + 1), layer = *number % (layers + 1);
    const std::string block = "up_blocks." + std::to_string(level);
    for (const std::string_view enlarging : {"1.conv.*", "2.conv.*"})
      if (auto ours = detail::convolution(block + ".upsamplers.0.", name, enlarging)) return ours;
    return inside(block, layer);
  }
  return std::nullopt;
}

/// The LDM name of a UNet's parameter with diffusers' name `name`, nothing if there is none.
/// `attends(i)`: whether level i on the way up has attention; its upsampling convolution is then the part
/// after it.
template <class Attends>
std::optional<std::string> ldm_unet_name(std::string_view name, std::int64_t layers, Attends&& attends) {
  for (const io::NameLine& line : ldm_outer_names)
    if (auto theirs = io::translated(name, line.ours, line.theirs)) return theirs;
  const auto behind = [&](std::string_view start) {
    if (!name.starts_with(start)) return false;
    name.remove_prefix(start.size());
    return true;
  };
  const auto residual = [&](const std::string& place) -> std::optional<std::string> {
    for (const io::NameLine& line : ldm_residual_names)
      if (const auto theirs = io::translated(name, line.ours, line.theirs)) return place + *theirs;
    return std::nullopt;
  };
  const auto inside = [&](const std::string& blocks, std::int64_t first) -> std::optional<std::string> {
    const bool attention = behind("attentions.");
    if (!attention && !behind("resnets.")) return std::nullopt;
    const auto layer = detail::leading_number(name);
    if (!layer) return std::nullopt;
    const std::string block = blocks + std::to_string(first + *layer);
    return attention ? block + ".1." + std::string(name) : residual(block + ".0.");
  };
  if (behind("mid_block.resnets.0.")) return residual("middle_block.0.");
  if (behind("mid_block.resnets.1.")) return residual("middle_block.2.");
  if (behind("mid_block.attentions.0.")) return "middle_block.1." + std::string(name);
  const bool down = behind("down_blocks.");
  if (!down && !behind("up_blocks.")) return std::nullopt;
  const auto level = detail::leading_number(name);
  if (!level) return std::nullopt;
  const std::int64_t first = *level * (layers + 1);
  if (behind("downsamplers.0."))
    return io::translated(name, "conv.*", "input_blocks." + std::to_string(first + layers + 1) + ".0.op.*");
  if (behind("upsamplers.0."))
    return io::translated(
        name, "conv.*",
        "output_blocks." + std::to_string(first + layers) + (attends(*level) ? ".2.conv.*" : ".1.conv.*"));
  return down ? inside("input_blocks.", first + 1) : inside("output_blocks.", first);
}

}  // namespace precast::stable_diffusion
