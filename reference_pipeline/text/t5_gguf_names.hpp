// The parameter names of a T5 encoder in GGUF files, mapped to transformers' names, which are ours.
#pragma once

#include <array>

#include <precast/io/name_table.hpp>

namespace precast::text {

/// For io::their_rows and io::our_rows. Only the first block has a relative position bias.
inline constexpr std::array t5_gguf_names = {
    io::NameLine{"token_embd.weight", "shared.weight"},
    io::NameLine{"enc.output_norm.weight", "encoder.final_layer_norm.weight"},
    io::NameLine{"enc.blk.#.attn_q.weight", "encoder.block.#.layer.0.SelfAttention.q.weight"},
    io::NameLine{"enc.blk.#.attn_k.weight", "encoder.block.#.layer.0.SelfAttention.k.weight"},
    io::NameLine{"enc.blk.#.attn_v.weight", "encoder.block.#.layer.0.SelfAttention.v.weight"},
    io::NameLine{"enc.blk.#.attn_o.weight", "encoder.block.#.layer.0.SelfAttention.o.weight"},
    io::NameLine{"enc.blk.#.attn_rel_b.weight",
                 "encoder.block.#.layer.0.SelfAttention.relative_attention_bias.weight"},
    io::NameLine{"enc.blk.#.attn_norm.weight", "encoder.block.#.layer.0.layer_norm.weight"},
    io::NameLine{"enc.blk.#.ffn_gate.weight", "encoder.block.#.layer.1.DenseReluDense.wi_0.weight"},
    io::NameLine{"enc.blk.#.ffn_up.weight", "encoder.block.#.layer.1.DenseReluDense.wi_1.weight"},
    io::NameLine{"enc.blk.#.ffn_down.weight", "encoder.block.#.layer.1.DenseReluDense.wo.weight"},
    io::NameLine{"enc.blk.#.ffn_norm.weight", "encoder.block.#.layer.1.layer_norm.weight"},
};

}  // namespace precast::text
