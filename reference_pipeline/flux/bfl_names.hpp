// How Black Forest Labs' own files (flux1-dev.safetensors, and the GGUF files made of them) name a Flux
// transformer's parameters, beside diffusers' names, which are ours.
#pragma once

#include <array>

#include <precast/io/name_table.hpp>

namespace precast::flux {

/// For io::their_rows (diffusers -> BFL) and io::our_rows (BFL -> diffusers).
inline constexpr std::array bfl_names = {
    io::NameLine{"img_in.*", "x_embedder.*"},
    io::NameLine{"txt_in.*", "context_embedder.*"},
    io::NameLine{"time_in.in_layer.*", "time_text_embed.timestep_embedder.linear_1.*"},
    io::NameLine{"time_in.out_layer.*", "time_text_embed.timestep_embedder.linear_2.*"},
    io::NameLine{"vector_in.in_layer.*", "time_text_embed.text_embedder.linear_1.*"},
    io::NameLine{"vector_in.out_layer.*", "time_text_embed.text_embedder.linear_2.*"},
    io::NameLine{"guidance_in.in_layer.*", "time_text_embed.guidance_embedder.linear_1.*"},
    io::NameLine{"guidance_in.out_layer.*", "time_text_embed.guidance_embedder.linear_2.*"},

    io::NameLine{"double_blocks.#.img_mod.lin.*", "transformer_blocks.#.norm1.linear.*"},
    io::NameLine{"double_blocks.#.txt_mod.lin.*", "transformer_blocks.#.norm1_context.linear.*"},
    io::NameLine{"double_blocks.#.img_attn.qkv.*", "transformer_blocks.#.attn.to_q.*", 0, 1, 3},
    io::NameLine{"double_blocks.#.img_attn.qkv.*", "transformer_blocks.#.attn.to_k.*", 1, 1, 3},
    io::NameLine{"double_blocks.#.img_attn.qkv.*", "transformer_blocks.#.attn.to_v.*", 2, 1, 3},
    io::NameLine{"double_blocks.#.txt_attn.qkv.*", "transformer_blocks.#.attn.add_q_proj.*", 0, 1, 3},
    io::NameLine{"double_blocks.#.txt_attn.qkv.*", "transformer_blocks.#.attn.add_k_proj.*", 1, 1, 3},
    io::NameLine{"double_blocks.#.txt_attn.qkv.*", "transformer_blocks.#.attn.add_v_proj.*", 2, 1, 3},
    io::NameLine{"double_blocks.#.img_attn.proj.*", "transformer_blocks.#.attn.to_out.0.*"},
    io::NameLine{"double_blocks.#.txt_attn.proj.*", "transformer_blocks.#.attn.to_add_out.*"},
    io::NameLine{"double_blocks.#.img_attn.norm.query_norm.scale", "transformer_blocks.#.attn.norm_q.weight"},
    io::NameLine{"double_blocks.#.img_attn.norm.key_norm.scale", "transformer_blocks.#.attn.norm_k.weight"},
    io::NameLine{"double_blocks.#.txt_attn.norm.query_norm.scale",
                 "transformer_blocks.#.attn.norm_added_q.weight"},
    io::NameLine{"double_blocks.#.txt_attn.norm.key_norm.scale",
                 "transformer_blocks.#.attn.norm_added_k.weight"},
    io::NameLine{"double_blocks.#.img_mlp.0.*", "transformer_blocks.#.ff.net.0.proj.*"},
    io::NameLine{"double_blocks.#.img_mlp.2.*", "transformer_blocks.#.ff.net.2.*"},
    io::NameLine{"double_blocks.#.txt_mlp.0.*", "transformer_blocks.#.ff_context.net.0.proj.*"},
    io::NameLine{"double_blocks.#.txt_mlp.2.*", "transformer_blocks.#.ff_context.net.2.*"},

    io::NameLine{"single_blocks.#.modulation.lin.*", "single_transformer_blocks.#.norm.linear.*"},
    io::NameLine{"single_blocks.#.linear1.*", "single_transformer_blocks.#.attn.to_q.*", 0, 1, 7},
    io::NameLine{"single_blocks.#.linear1.*", "single_transformer_blocks.#.attn.to_k.*", 1, 1, 7},
    io::NameLine{"single_blocks.#.linear1.*", "single_transformer_blocks.#.attn.to_v.*", 2, 1, 7},
    io::NameLine{"single_blocks.#.linear1.*", "single_transformer_blocks.#.proj_mlp.*", 3, 4, 7},
    io::NameLine{"single_blocks.#.linear2.*", "single_transformer_blocks.#.proj_out.*"},
    io::NameLine{"single_blocks.#.norm.query_norm.scale", "single_transformer_blocks.#.attn.norm_q.weight"},
    io::NameLine{"single_blocks.#.norm.key_norm.scale", "single_transformer_blocks.#.attn.norm_k.weight"},

    // BFL's rows are shift, then scale; diffusers' the other way round. No other layer differs so.
    io::NameLine{
        .theirs = "final_layer.adaLN_modulation.1.*", .ours = "norm_out.linear.*", .halves_swapped = true},
    io::NameLine{"final_layer.linear.*", "proj_out.*"},
};

}  // namespace precast::flux
