// The parameter names of CLIP's text models in transformers.
#pragma once

#include <array>
#include <string_view>

#include <precast/io/name_table.hpp>

namespace precast::text {

/// Names (ours, without "text_model.") of parameters that modules read, or that are known and not needed.
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

/// The prefix of transformers' names, which merged files of Stable Diffusion 1.x and models saved by
/// transformers 5 and later lack.
inline constexpr std::string_view text_model = "text_model.";

inline std::string_view without_text_model(std::string_view name) {
  return name.starts_with(text_model) ? name.substr(text_model.size()) : name;
}

}  // namespace precast::text
