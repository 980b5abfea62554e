// Weights that a safetensors file holds as codes with their scales beside them, as ComfyUI names and
// announces these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <convert/output_tensor.hpp>

#include <precast/io/safetensors_writer.hpp>
#include <precast/quant/encode.hpp>

namespace precast::conversion {

/// Whether a type is written that way: in safetensors, rows of codes under scales, mxfp8 and nvfp4.
bool is_scaled(const DtypeInfo& type, Container container);
/// Whether a tensor can be: a matrix whose name ends in ".weight"; of mxfp8 one whose rows are a multiple of
/// 32, of nvfp4 of 16, which ComfyUI pads them to.
bool can_be_scaled(const DtypeInfo& type, const std::string& name, const Shape& shape);

/// That in words: "matrices of layers in tiles of 16 rows and 64 columns".
std::string what_can_be_scaled(std::string_view type);
/// Whether a tensor lies in its format, but under several scales where it can have one, as where parts are
/// put together that each had theirs: it is decoded and encoded anew.
bool needs_new_scales(const OutputTensor& tensor, Container container);
/// What a tensor takes in a file of that kind, scales included, announcements not: as a weight of the input
/// is counted.
std::int64_t bytes_in(const OutputTensor& tensor, Container container);

/// Announces `LAYER.weight` of codes, `LAYER.weight_scale` (nvfp4 has `LAYER.weight_scale_2` too, one number
/// by which all of these are multiplied), and `LAYER.comfy_quant`, which says the format.
void declare_scaled(io::SafetensorsWriter& writer, const OutputTensor& tensor);

/// What of a tensor's values is wanted next: `read(first, values)` writes values [first, first +
/// values.size()) of it, counted over all of its pieces, all of them finite. Several threads call it.
using ReadValues = std::function<void(std::int64_t first, std::span<f32> values)>;
/// Where bytes go, in the order of what was announced; told how many values are done with them.
using WriteBytes = std::function<void(std::span<const std::byte> bytes, std::int64_t values)>;

/// Which encoder makes the blocks or the scale of a row, and by which importance of its columns. Several
/// threads call it.
using OptionsOfRow = std::function<quant::EncodeOptions(std::int64_t row)>;

/// Writes what declare_scaled announced, some MiB at a time; the scales are kept until the codes are written.
/// A scale for the whole tensor takes two passes over its values, and eight where it is searched. What lies
/// in the format already keeps its codes and scales, where what is put together has scales that one tensor
/// can have; nvfp4 of GGUF gets a 1 for all of its scales.
void write_scaled(const OutputTensor& tensor, const ReadValues& read, const OptionsOfRow& options,
                  const WriteBytes& write);

}  // namespace precast::conversion
