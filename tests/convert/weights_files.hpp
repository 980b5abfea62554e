// Files of weights for conversions: made of chosen values, and read back as f32.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <convert/model_conversion.hpp>
#include <convert/value_type.hpp>
#include <formats/registry.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/safetensors_writer.hpp>
#include <precast/io/write_gguf.hpp>

namespace precast::testing {

/// A tensor before it is written in any type.
struct PlainTensor {
  Shape shape;
  std::vector<f32> values;
};
using PlainTensors = std::map<std::string, PlainTensor>;

/// Normal values, other ones for each seed.
inline PlainTensor normal_tensor(const Shape& shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  PlainTensor tensor{shape, std::vector<f32>(static_cast<std::size_t>(shape.elements()))};
  for (f32& value : tensor.values) value = normal(engine);
  return tensor;
}

inline std::vector<std::byte> encoded(const std::string& type, const std::vector<f32>& values) {
  const DtypeInfo info = *formats::find_type(type);
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(conversion::bytes_of(info, static_cast<std::int64_t>(values.size()))));
  formats::format_named(info.name)->encode(values, bytes, {});
  return bytes;
}

inline std::vector<f32> decoded(const conversion::InputTensor& tensor) {
  std::vector<f32> values(static_cast<std::size_t>(tensor.shape.elements()));
  conversion::decode(tensor.type, tensor.bytes, values);
  return values;
}

/// What values are after they were stored in a type.
inline std::vector<f32> stored_as(const std::string& type, const std::vector<f32>& values) {
  const std::vector<std::byte> bytes = encoded(type, values);
  std::vector<f32> back(values.size());
  conversion::decode(*formats::find_type(type), bytes, back);
  return back;
}

/// Writes all tensors in one type.
template <class Writer>
void write_tensors(const std::filesystem::path& file, const PlainTensors& tensors, const std::string& type) {
  Writer writer(file);
  for (const auto& [name, tensor] : tensors) writer.declare(name, *formats::find_type(type), tensor.shape);
  for (const auto& [name, tensor] : tensors) writer.write(encoded(type, tensor.values));
  writer.commit();
}

/// Converts a file as the command does.
inline void convert_file(const std::filesystem::path& in, const std::filesystem::path& out,
                         const conversion::Settings& settings) {
  conversion::ModelConversion(in, out, settings).write({});
}

inline conversion::Settings to_type(const std::string& type, const std::vector<std::string>& rules = {}) {
  conversion::Settings settings;
  if (!type.empty()) settings.type_options.type = formats::find_type(type);
  for (const std::string& rule : rules) settings.type_options.rules.push_back(conversion::parse_rule(rule));
  return settings;
}

/// What a call throws, or "".
inline std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// The tensors of a Flux transformer of one block of each kind, in diffusers' names.
inline PlainTensors small_flux(std::int64_t h = 64, std::int64_t head = 32) {
  PlainTensors tensors;
  unsigned seed = 1;
  const auto add = [&](const std::string& name, const Shape& shape) {
    tensors[name] = normal_tensor(shape, seed++);
  };
  const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  linear("x_embedder", 32, h);
  linear("context_embedder", 96, h);
  for (const char* part : {"timestep", "guidance", "text"}) {
    linear(std::string("time_text_embed.") + part + "_embedder.linear_1", 256, h);
    linear(std::string("time_text_embed.") + part + "_embedder.linear_2", h, h);
  }
  const std::string twice = "transformer_blocks.0.", once = "single_transformer_blocks.0.";
  for (const char* norm : {"norm1.linear", "norm1_context.linear"}) linear(twice + norm, h, 6 * h);
  for (const char* name :
       {"to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"})
    linear(twice + "attn." + name, h, h);
  for (const char* name : {"norm_q", "norm_k", "norm_added_q", "norm_added_k"})
    add(twice + "attn." + name + ".weight", {head});
  for (const char* name : {"ff", "ff_context"}) {
    linear(twice + name + ".net.0.proj", h, 4 * h);
    linear(twice + name + ".net.2", 4 * h, h);
  }
  linear(once + "norm.linear", h, 3 * h);
  for (const char* name : {"to_q", "to_k", "to_v"}) linear(once + "attn." + name, h, h);
  for (const char* name : {"norm_q", "norm_k"}) add(once + "attn." + name + ".weight", {head});
  linear(once + "proj_mlp", h, 4 * h);
  linear(once + "proj_out", 5 * h, h);
  linear("norm_out.linear", h, 2 * h);
  linear("proj_out", h, 32);
  return tensors;
}

}  // namespace precast::testing
