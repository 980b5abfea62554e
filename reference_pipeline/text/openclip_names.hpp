// The parameter names of OpenCLIP's text models, and of Stable Diffusion 2 and XL files, mapped to
// transformers' names.
#pragma once

#include <array>
#include <string_view>

#include <precast/io/name_table.hpp>

namespace precast::text {

/// For io::our_rows (OpenCLIP -> transformers).
inline constexpr std::array openclip_names = {
    io::NameLine{"token_embedding.weight", "text_model.embeddings.token_embedding.weight"},
    io::NameLine{"positional_embedding", "text_model.embeddings.position_embedding.weight"},
    io::NameLine{"ln_final.*", "text_model.final_layer_norm.*"},
    io::NameLine{.theirs = "text_projection", .ours = "text_projection.weight", .transposed = true},
    io::NameLine{"logit_scale", "logit_scale"},  // unused
    io::NameLine{"transformer.resblocks.#.ln_1.*", "text_model.encoder.layers.#.layer_norm1.*"},
    io::NameLine{"transformer.resblocks.#.ln_2.*", "text_model.encoder.layers.#.layer_norm2.*"},
    io::NameLine{"transformer.resblocks.#.attn.in_proj_*", "text_model.encoder.layers.#.self_attn.q_proj.*",
                 0, 1, 3},
    io::NameLine{"transformer.resblocks.#.attn.in_proj_*", "text_model.encoder.layers.#.self_attn.k_proj.*",
                 1, 1, 3},
    io::NameLine{"transformer.resblocks.#.attn.in_proj_*", "text_model.encoder.layers.#.self_attn.v_proj.*",
                 2, 1, 3},
    io::NameLine{"transformer.resblocks.#.attn.out_proj.*",
                 "text_model.encoder.layers.#.self_attn.out_proj.*"},
    io::NameLine{"transformer.resblocks.#.mlp.c_fc.*", "text_model.encoder.layers.#.mlp.fc1.*"},
    io::NameLine{"transformer.resblocks.#.mlp.c_proj.*", "text_model.encoder.layers.#.mlp.fc2.*"},
};

/// The name of OpenCLIP's projection in stable-diffusion.cpp's files, stored in OpenCLIP's layout among
/// parameters with transformers' names, and in transformers itself.
inline constexpr std::string_view renamed_projection = "text_model.text_projection";
inline constexpr std::string_view projection = "text_projection.weight";

}  // namespace precast::text
