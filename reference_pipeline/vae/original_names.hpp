// The parameter names in ae.safetensors and in all-in-one files, mapped to diffusers' names.
#pragma once

#include <array>

#include <precast/io/name_table.hpp>

namespace precast::vae {

/// For io::their_rows and io::our_rows with the autoencoder's number of levels: the original names count
/// the decoder's levels from the finest.
inline constexpr std::array original_names = {
    io::NameLine{"encoder.conv_in.*", "encoder.conv_in.*"},
    io::NameLine{"encoder.conv_out.*", "encoder.conv_out.*"},
    io::NameLine{"encoder.norm_out.*", "encoder.conv_norm_out.*"},
    io::NameLine{"encoder.down.#.downsample.conv.*", "encoder.down_blocks.#.downsamplers.0.conv.*"},
    io::NameLine{"encoder.down.#.block.#.norm1.*", "encoder.down_blocks.#.resnets.#.norm1.*"},
    io::NameLine{"encoder.down.#.block.#.norm2.*", "encoder.down_blocks.#.resnets.#.norm2.*"},
    io::NameLine{"encoder.down.#.block.#.conv1.*", "encoder.down_blocks.#.resnets.#.conv1.*"},
    io::NameLine{"encoder.down.#.block.#.conv2.*", "encoder.down_blocks.#.resnets.#.conv2.*"},
    io::NameLine{"encoder.down.#.block.#.nin_shortcut.*", "encoder.down_blocks.#.resnets.#.conv_shortcut.*"},

    io::NameLine{"decoder.conv_in.*", "decoder.conv_in.*"},
    io::NameLine{"decoder.conv_out.*", "decoder.conv_out.*"},
    io::NameLine{"decoder.norm_out.*", "decoder.conv_norm_out.*"},
    io::NameLine{"decoder.up.~.upsample.conv.*", "decoder.up_blocks.~.upsamplers.0.conv.*"},
    io::NameLine{"decoder.up.~.block.#.norm1.*", "decoder.up_blocks.~.resnets.#.norm1.*"},
    io::NameLine{"decoder.up.~.block.#.norm2.*", "decoder.up_blocks.~.resnets.#.norm2.*"},
    io::NameLine{"decoder.up.~.block.#.conv1.*", "decoder.up_blocks.~.resnets.#.conv1.*"},
    io::NameLine{"decoder.up.~.block.#.conv2.*", "decoder.up_blocks.~.resnets.#.conv2.*"},
    io::NameLine{"decoder.up.~.block.#.nin_shortcut.*", "decoder.up_blocks.~.resnets.#.conv_shortcut.*"},

    io::NameLine{"encoder.mid.attn_1.norm.*", "encoder.mid_block.attentions.0.group_norm.*"},
    io::NameLine{"encoder.mid.attn_1.q.*", "encoder.mid_block.attentions.0.to_q.*"},
    io::NameLine{"encoder.mid.attn_1.k.*", "encoder.mid_block.attentions.0.to_k.*"},
    io::NameLine{"encoder.mid.attn_1.v.*", "encoder.mid_block.attentions.0.to_v.*"},
    io::NameLine{"encoder.mid.attn_1.proj_out.*", "encoder.mid_block.attentions.0.to_out.0.*"},
    io::NameLine{"encoder.mid.block_1.norm1.*", "encoder.mid_block.resnets.0.norm1.*"},
    io::NameLine{"encoder.mid.block_1.norm2.*", "encoder.mid_block.resnets.0.norm2.*"},
    io::NameLine{"encoder.mid.block_1.conv1.*", "encoder.mid_block.resnets.0.conv1.*"},
    io::NameLine{"encoder.mid.block_1.conv2.*", "encoder.mid_block.resnets.0.conv2.*"},
    io::NameLine{"encoder.mid.block_2.norm1.*", "encoder.mid_block.resnets.1.norm1.*"},
    io::NameLine{"encoder.mid.block_2.norm2.*", "encoder.mid_block.resnets.1.norm2.*"},
    io::NameLine{"encoder.mid.block_2.conv1.*", "encoder.mid_block.resnets.1.conv1.*"},
    io::NameLine{"encoder.mid.block_2.conv2.*", "encoder.mid_block.resnets.1.conv2.*"},

    io::NameLine{"decoder.mid.attn_1.norm.*", "decoder.mid_block.attentions.0.group_norm.*"},
    io::NameLine{"decoder.mid.attn_1.q.*", "decoder.mid_block.attentions.0.to_q.*"},
    io::NameLine{"decoder.mid.attn_1.k.*", "decoder.mid_block.attentions.0.to_k.*"},
    io::NameLine{"decoder.mid.attn_1.v.*", "decoder.mid_block.attentions.0.to_v.*"},
    io::NameLine{"decoder.mid.attn_1.proj_out.*", "decoder.mid_block.attentions.0.to_out.0.*"},
    io::NameLine{"decoder.mid.block_1.norm1.*", "decoder.mid_block.resnets.0.norm1.*"},
    io::NameLine{"decoder.mid.block_1.norm2.*", "decoder.mid_block.resnets.0.norm2.*"},
    io::NameLine{"decoder.mid.block_1.conv1.*", "decoder.mid_block.resnets.0.conv1.*"},
    io::NameLine{"decoder.mid.block_1.conv2.*", "decoder.mid_block.resnets.0.conv2.*"},
    io::NameLine{"decoder.mid.block_2.norm1.*", "decoder.mid_block.resnets.1.norm1.*"},
    io::NameLine{"decoder.mid.block_2.norm2.*", "decoder.mid_block.resnets.1.norm2.*"},
    io::NameLine{"decoder.mid.block_2.conv1.*", "decoder.mid_block.resnets.1.conv1.*"},
    io::NameLine{"decoder.mid.block_2.conv2.*", "decoder.mid_block.resnets.1.conv2.*"},

    io::NameLine{"quant_conv.*", "quant_conv.*"},
    io::NameLine{"post_quant_conv.*", "post_quant_conv.*"},
};

}  // namespace precast::vae
