// Weights that a safetensors file holds as codes with their scales beside them, as ComfyUI names and
// announces these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <convert/output_tensor.hpp>
#include <weights/comfy_formats.hpp>

#include <precast/io/safetensors_writer.hpp>

namespace precast::conversion {

/// The number of a layout that a whole tensor has one of.
enum class TensorNumber : std::uint8_t { none, scale, scale_of_scales };

/// How such a type lies in the file: a byte for `values_in_byte` values of a row, and for each
/// `values_per_scale` of them a scale, where weights::SwizzledScales says.
struct ScaledLayout {
  weights::ComfyFormat format;
  DtypeInfo scale = dtype_info<f32>;
  TensorNumber tensor_number = TensorNumber::none;
  std::int64_t values_in_byte = 1;
  std::int64_t values_per_scale = 0;  ///< 0: the tensor or each row has one

  /// The shapes of the codes and of the scales of a matrix [rows, columns].
  Shape codes_of(const Shape& matrix) const { return {matrix[0], matrix[1] / values_in_byte}; }
  Shape scales_of(const Shape& matrix) const;
};

/// The layout of a type in safetensors, or nothing: rows of codes under scales, mxfp8 and nvfp4 have one.
std::optional<ScaledLayout> scaled_layout(std::string_view type);

/// Whether a type is written that way.
bool is_scaled(const DtypeInfo& type, Container container);
/// Whether a tensor can be: a matrix whose name ends in ".weight", in whole tiles of the type's layout.
bool can_be_scaled(const DtypeInfo& type, const std::string& name, const Shape& shape);
/// That in words: "matrices of layers in tiles of 16 rows and 64 columns".
std::string what_can_be_scaled(std::string_view type);

/// The one number that all pieces of a tensor have beside them, or nothing where they have several.
std::optional<f32> number_of_all(const OutputTensor& tensor, const ScaledLayout& layout);
/// Whether all of a tensor lies in its layout under scales that it can have. Its codes are moved then: where
/// another program chose the scales, encoding would give other codes.
bool can_be_moved(const OutputTensor& tensor, const ScaledLayout& layout);
/// Whether a tensor lies in its format, but under several scales where it can have one: its parts each had
/// theirs. It is decoded and encoded anew.
bool needs_new_scales(const OutputTensor& tensor, Container container);

/// The bytes that a tensor takes in a file of that kind, with its scales and without its announcement: as
/// weights of the input are counted.
std::int64_t bytes_in(const OutputTensor& tensor, Container container);

/// The text of `LAYER.comfy_quant`.
std::string announcement(const ScaledLayout& layout);
/// Announces `LAYER.weight` of codes, `LAYER.weight_scale` (nvfp4 has `LAYER.weight_scale_2` too, one number
/// by which all of these are multiplied), and `LAYER.comfy_quant`, which says the format.
void declare_scaled(io::SafetensorsWriter& writer, const OutputTensor& tensor);

}  // namespace precast::conversion
