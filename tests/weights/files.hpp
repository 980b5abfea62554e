// The embedded model's parameters written into files as other programs have them: names and rows are said
// here once more, by hand, and not taken from the tables that reading uses.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <precast/io/component_source.hpp>
#include <precast/io/write_gguf.hpp>
#include <precast/quant/by_name.hpp>

namespace precast::testing {

/// Whether the text has the words; where it has not, a failing check shows it.
inline bool says(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) return true;
  UNSCOPED_INFO(text);
  return false;
}

inline std::filesystem::path shapes_model() {
  return std::filesystem::path(PRECAST_SOURCE_DIR) / "reference_pipeline/shapes/model";
}

/// A tensor as a file is to have it.
struct FileTensor {
  std::string dtype;  ///< as safetensors writes it
  Shape shape;
  std::string bytes;
};
using FileTensors = std::map<std::string, FileTensor>;

template <class T>
FileTensor file_tensor(const std::string& dtype, const Shape& shape, const std::vector<T>& values) {
  return {dtype, shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}};
}
inline FileTensor json_tensor(const std::string& text) {
  return {"U8", Shape{static_cast<std::int64_t>(text.size())}, text};
}

inline void write_tensors(const std::filesystem::path& file, const FileTensors& tensors,
                          const std::map<std::string, std::string>& metadata = {}) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t begin = 0;
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape.sizes()},
                    {"data_offsets", {begin, begin + tensor.bytes.size()}}};
    begin += tensor.bytes.size();
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(&length), sizeof length);
  stream << text << data;
}

/// All of a file or folder of weights as it lies.
inline FileTensors stored_tensors(const std::filesystem::path& file) {
  FileTensors tensors;
  const io::ComponentSource source(file);
  for (const io::TensorEntry* entry : source.tensors())
    tensors[entry->name] = {std::string(entry->dtype.file_name),
                            entry->shape,
                            {reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size()}};
  return tensors;
}
/// A component of the embedded model.
inline FileTensors tensors_of(const std::string& component) {
  return stored_tensors(shapes_model() / component);
}

/// One above the other.
inline FileTensor stacked(const std::vector<FileTensor>& parts) {
  FileTensor whole = parts.front();
  std::vector<std::int64_t> sizes(whole.shape.sizes().begin(), whole.shape.sizes().end());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    sizes[0] += parts[i].shape[0];
    whole.bytes += parts[i].bytes;
  }
  whole.shape = Shape(std::span<const std::int64_t>(sizes));
  return whole;
}

/// The transformer as flux1-dev.safetensors has it.
inline FileTensors bfl_transformer() {
  const FileTensors ours = tensors_of("transformer");
  FileTensors theirs;
  const auto both = [&](const std::string& their, const std::vector<std::string>& our) {
    for (const std::string end : {".weight", ".bias"}) {
      std::vector<FileTensor> parts;
      for (const std::string& name : our) parts.push_back(ours.at(name + end));
      theirs[their + end] = stacked(parts);
    }
  };
  both("img_in", {"x_embedder"});
  both("txt_in", {"context_embedder"});
  for (const auto& [their, our] : {std::pair("time_in", "timestep_embedder"),
                                   {"vector_in", "text_embedder"},
                                   {"guidance_in", "guidance_embedder"}}) {
    both(std::string(their) + ".in_layer", {std::string("time_text_embed.") + our + ".linear_1"});
    both(std::string(their) + ".out_layer", {std::string("time_text_embed.") + our + ".linear_2"});
  }
  for (int i = 0; i < 2; ++i) {
    const std::string t = "double_blocks." + std::to_string(i) + ".",
                      o = "transformer_blocks." + std::to_string(i) + ".";
    both(t + "img_mod.lin", {o + "norm1.linear"});
    both(t + "txt_mod.lin", {o + "norm1_context.linear"});
    both(t + "img_attn.qkv", {o + "attn.to_q", o + "attn.to_k", o + "attn.to_v"});
    both(t + "txt_attn.qkv", {o + "attn.add_q_proj", o + "attn.add_k_proj", o + "attn.add_v_proj"});
    both(t + "img_attn.proj", {o + "attn.to_out.0"});
    both(t + "txt_attn.proj", {o + "attn.to_add_out"});
    both(t + "img_mlp.0", {o + "ff.net.0.proj"});
    both(t + "img_mlp.2", {o + "ff.net.2"});
    both(t + "txt_mlp.0", {o + "ff_context.net.0.proj"});
    both(t + "txt_mlp.2", {o + "ff_context.net.2"});
    theirs[t + "img_attn.norm.query_norm.scale"] = ours.at(o + "attn.norm_q.weight");
    theirs[t + "img_attn.norm.key_norm.scale"] = ours.at(o + "attn.norm_k.weight");
    theirs[t + "txt_attn.norm.query_norm.scale"] = ours.at(o + "attn.norm_added_q.weight");
    theirs[t + "txt_attn.norm.key_norm.scale"] = ours.at(o + "attn.norm_added_k.weight");
  }
  for (int i = 0; i < 4; ++i) {
    const std::string t = "single_blocks." + std::to_string(i) + ".",
                      o = "single_transformer_blocks." + std::to_string(i) + ".";
    both(t + "modulation.lin", {o + "norm.linear"});
    both(t + "linear1", {o + "attn.to_q", o + "attn.to_k", o + "attn.to_v", o + "proj_mlp"});
    both(t + "linear2", {o + "proj_out"});
    theirs[t + "norm.query_norm.scale"] = ours.at(o + "attn.norm_q.weight");
    theirs[t + "norm.key_norm.scale"] = ours.at(o + "attn.norm_k.weight");
  }
  both("final_layer.linear", {"proj_out"});
  for (const std::string end : {".weight", ".bias"}) {  // (scale, shift) becomes (shift, scale)
    FileTensor swapped = ours.at("norm_out.linear" + end);
    const std::size_t half = swapped.bytes.size() / 2;
    swapped.bytes = swapped.bytes.substr(half) + swapped.bytes.substr(0, half);
    theirs["final_layer.adaLN_modulation.1" + end] = swapped;
  }
  return theirs;
}

/// The VAE as ae.safetensors has it: 3 levels of one block each (two in the decoder).
inline FileTensors original_vae() {
  FileTensors theirs;
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    return at == text.npos ? text : text.replace(at, from.size(), to);
  };
  for (const auto& [our_name, our_tensor] : tensors_of("vae")) {
    std::string name = our_name;
    FileTensor tensor = our_tensor;
    for (int i = 0; i < 3; ++i) {
      const std::string number = std::to_string(i);
      name = replaced(name, "encoder.down_blocks." + number + ".", "encoder.down." + number + ".");
      if (name.starts_with("decoder.up_blocks." + number))
        name = replaced(name, "up_blocks." + number, "up." + std::to_string(2 - i));
    }
    name = replaced(name, "mid_block.resnets.0", "mid.block_1");
    name = replaced(name, "mid_block.resnets.1", "mid.block_2");
    name = replaced(name, ".resnets.", ".block.");
    name = replaced(name, "downsamplers.0", "downsample");
    name = replaced(name, "upsamplers.0", "upsample");
    name = replaced(name, "conv_shortcut", "nin_shortcut");
    name = replaced(name, "conv_norm_out", "norm_out");
    const bool attention = name.find("attentions.0") != name.npos;
    name = replaced(name, "mid_block.attentions.0.group_norm", "mid.attn_1.norm");
    for (const std::string letter : {"q", "k", "v"})
      name = replaced(name, "mid_block.attentions.0.to_" + letter, "mid.attn_1." + letter);
    name = replaced(name, "mid_block.attentions.0.to_out.0", "mid.attn_1.proj_out");
    if (attention && tensor.shape.rank() == 2) tensor.shape = Shape{tensor.shape[0], tensor.shape[1], 1, 1};
    theirs[name] = tensor;
  }
  return theirs;
}

inline FileTensors with_prefix(const std::string& prefix, const FileTensors& tensors) {
  FileTensors result;
  for (const auto& [name, tensor] : tensors) result[prefix + name] = tensor;
  return result;
}

/// The values of a tensor of F32, BF16 or F16.
inline std::vector<f32> values_in(const FileTensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.shape.elements());
  std::vector<f32> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (tensor.dtype == "F32") {
      std::memcpy(&values[i], tensor.bytes.data() + 4 * i, 4);
    } else {
      bf16 value;
      f16 half;
      std::memcpy(&value, tensor.bytes.data() + 2 * i, 2);
      std::memcpy(&half, tensor.bytes.data() + 2 * i, 2);
      values[i] = tensor.dtype == "BF16" ? convert<f32>(value) : convert<f32>(half);
    }
  }
  return values;
}

/// The embedded model's T5 in the names that GGUF files have.
inline FileTensors gguf_t5() {
  FileTensors gguf;
  for (const auto& [name, tensor] : tensors_of("text_encoder_2")) {
    std::string theirs = name;
    if (theirs == "encoder.embed_tokens.weight") continue;
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"shared", "token_embd"},
                                   {"encoder.final_layer_norm", "enc.output_norm"},
                                   {"encoder.block.", "enc.blk."},
                                   {"layer.0.SelfAttention.relative_attention_bias", "attn_rel_b"},
                                   {"layer.0.SelfAttention.", "attn_"},
                                   {"layer.0.layer_norm", "attn_norm"},
                                   {"layer.1.layer_norm", "ffn_norm"},
                                   {"layer.1.DenseReluDense.wi_0", "ffn_gate"},
                                   {"layer.1.DenseReluDense.wi_1", "ffn_up"},
                                   {"layer.1.DenseReluDense.wo", "ffn_down"}})
      if (const auto at = theirs.find(from); at != theirs.npos) theirs.replace(at, from.size(), to);
    gguf[theirs] = tensor;
  }
  return gguf;
}

/// Writes a GGUF file: matrices whose rows `format` divides in it, the rest in f32. `set_values` is given the
/// writer for more values beside them.
inline void write_gguf(
    const std::filesystem::path& file, const FileTensors& tensors, const std::string& format,
    const std::string& architecture, const std::function<void(io::GgufWriter&)>& set_values = [](auto&) {}) {
  io::GgufWriter writer(file);
  set_values(writer);
  if (!architecture.empty()) writer.set("general.architecture", architecture);
  const io::GgufType type = *io::gguf_type(format);
  const auto quantised = [&](const FileTensor& tensor) {
    return type.info.values_per_block > 1 && tensor.shape.rank() == 2 &&
           tensor.shape.back() % type.info.values_per_block == 0;
  };
  for (const auto& [name, tensor] : tensors)
    writer.declare(name, quantised(tensor) ? type.info : dtype_info<f32>, tensor.shape);
  for (const auto& [name, tensor] : tensors) {
    const std::vector<f32> values = values_in(tensor);
    if (quantised(tensor)) {
      std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(type.info.values_per_block) *
                                   static_cast<std::size_t>(type.info.bytes_per_block));
      quant::encode(format, values, bytes);
      writer.write(bytes);
    } else {
      writer.write(std::as_bytes(std::span(values)));
    }
  }
  writer.commit();
}

}  // namespace precast::testing
