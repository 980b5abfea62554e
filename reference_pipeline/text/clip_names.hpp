// How transformers names the parameters of CLIP's text models.
#pragma once

#include <array>
#include <string_view>

#include <precast/io/name_table.hpp>

namespace precast::text {

/// Names (ours, without "text_model.") that modules ask for, or that stand beside them and mean nothing here.
inline constexpr std::array clip_names = {
    io::NameLine{"", "embeddings.token_embedding.weight"},
    io::NameLine{"", "embeddings.position_embedding.weight"},
    io::NameLine{"", "embeddings.position_ids"},
    io::NameLine{"", "encoder.layers.#.layer_norm1.*"},
    io::NameLine{"", "encoder.layers.#.layer_norm2.*"},
    io::NameLine{"", "encoder.layers.#.self_attn.q_proj.*"},
    io::NameLine{"", "encoder.layers.#.self_attn.k_proj.*"},
    io::NameLine{"", "encoder.layers.#.self_attn.v_proj.*"},
    io::NameLine{"", "encoder.layers.#.self_attn.out_proj.*"},
    io::NameLine{"", "encoder.layers.#.mlp.fc1.*"},
    io::NameLine{"", "encoder.layers.#.mlp.fc2.*"},
    io::NameLine{"", "final_layer_norm.*"},
    io::NameLine{"", "text_projection.weight"},
    io::NameLine{"", "logit_scale"},
};

/// How its names begin, but for those of merged files of Stable Diffusion 1.x and of what transformers saves
/// from version 5 on.
inline constexpr std::string_view text_model = "text_model.";

inline std::string_view without_text_model(std::string_view name) {
  return name.starts_with(text_model) ? name.substr(text_model.size()) : name;
}

}  // namespace precast::text
