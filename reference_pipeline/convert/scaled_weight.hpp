// Weights that a safetensors file holds as codes with their scales beside them, as ComfyUI names and
// announces these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <convert/output_tensor.hpp>

#include <precast/io/safetensors_writer.hpp>

namespace precast::conversion {

/// Whether a type is written that way: rows of codes under scales, and mxfp8.
bool is_scaled(const DtypeInfo& type);
/// Whether a tensor can be: a matrix whose name ends in ".weight"; of mxfp8 one whose rows are a multiple of
/// 32, which ComfyUI pads them to.
bool can_be_scaled(const DtypeInfo& type, const std::string& name, const Shape& shape);

/// Announces `LAYER.weight` of codes, `LAYER.weight_scale`, and `LAYER.comfy_quant`, which says the format.
void declare_scaled(io::SafetensorsWriter& writer, const OutputTensor& tensor);

/// What of a tensor's values is wanted next: `read(first, values)` writes values [first, first +
/// values.size()) of it, counted over all of its pieces, all of them finite. Several threads call it.
using ReadValues = std::function<void(std::int64_t first, std::span<f32> values)>;
/// Where bytes go, in the order of what was announced; told how many values are done with them.
using WriteBytes = std::function<void(std::span<const std::byte> bytes, std::int64_t values)>;

/// Writes what declare_scaled announced, some MiB at a time; the scales are kept until the codes are written.
/// One scale for the whole tensor takes two passes over its values.
void write_scaled(const OutputTensor& tensor, const ReadValues& read, const WriteBytes& write);

}  // namespace precast::conversion
