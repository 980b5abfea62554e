// One table of the layouts, and what follows from it.
#include <algorithm>
#include <bit>

#include <convert/scaled_weight.hpp>
#include <formats/fitting.hpp>
#include <formats/registry.hpp>
#include <weights/swizzled_scales.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>

namespace precast::conversion {

namespace {

constexpr std::string_view weight_end = ".weight";
constexpr DtypeInfo byte_info{"u8", 1, 1};

constexpr ScaledLayout mxfp8_layout{
    .format = weights::comfy_mxfp8, .scale = byte_info, .values_per_scale = 32};
constexpr ScaledLayout nvfp4_layout{.format = weights::comfy_nvfp4,
                                    .scale = dtype_info<fp8_e4m3>,
                                    .tensor_number = TensorNumber::scale_of_scales,
                                    .values_in_byte = 2,
                                    .values_per_scale = 16};

/// Whether all of a tensor lies in a layout.
bool is_in_layout(const OutputTensor& tensor, const ScaledLayout& layout) {
  return std::ranges::all_of(tensor.pieces, [&](const Piece& piece) {
    const weights::WeightTensor* const weight = piece.from->decoded_by;
    return weight && weight->decoding->codes &&
           weight->decoding->codes->announced == layout.format.announced && weight->shape.rank() == 2 &&
           weight->shape[1] == tensor.shape[1];
  });
}

}  // namespace

Shape ScaledLayout::scales_of(const Shape& matrix) const {
  if (tensor_number == TensorNumber::scale) return {};
  if (values_per_scale == 0) return {matrix[0], 1};
  return weights::SwizzledScales(matrix[0], matrix[1] / values_per_scale).shape();
}

std::optional<ScaledLayout> scaled_layout(std::string_view type) {
  if (type == dtype_traits<mxfp8>::name) return mxfp8_layout;
  if (type == dtype_traits<nvfp4>::name) return nvfp4_layout;
  std::optional<ScaledLayout> layout;
  visit_scaled_row_dtype(type, [&]<class Format>(std::type_identity<Format>) {
    layout = {
        .format = *weights::comfy_row_format_of(weights::code_info<scaled_code_of<Format>>()),
        .tensor_number = scale_of<Format> == ScaleOf::tensor ? TensorNumber::scale : TensorNumber::none};
  });
  return layout;
}

bool is_scaled(const DtypeInfo& type, Container container) {
  return container == Container::safetensors && scaled_layout(type.name);
}

bool can_be_scaled(const DtypeInfo& type, const std::string& name, const Shape& shape) {
  return scaled_layout(type.name) && shape.rank() == 2 && shape.elements() > 0 &&
         name.ends_with(weight_end) && formats::in_whole_tiles(*formats::format_named(type.name), shape);
}

std::string what_can_be_scaled(std::string_view type) {
  const formats::StoredFormat* const format = formats::format_named(type);
  if (!format || format->tile_rows == 1) return "matrices of layers";
  return "matrices of layers in tiles of " + std::to_string(format->tile_rows) + " rows and " +
         std::to_string(format->tile_columns) + " columns";
}

std::optional<f32> number_of_all(const OutputTensor& tensor, const ScaledLayout& layout) {
  std::optional<f32> of_all;
  for (const Piece& piece : tensor.pieces) {
    const weights::StoredCodes& codes = *piece.from->decoded_by->decoding->codes;
    const io::TensorEntry& entry =
        layout.tensor_number == TensorNumber::scale ? *codes.scales : *codes.of_scales;
    if (entry.shape.elements() != 1) return std::nullopt;
    const f32 own = weights::values_of(entry).front();
    if (of_all && std::bit_cast<std::uint32_t>(*of_all) != std::bit_cast<std::uint32_t>(own))
      return std::nullopt;
    of_all = own;
  }
  return of_all;
}

bool can_be_moved(const OutputTensor& tensor, const ScaledLayout& layout) {
  return is_in_layout(tensor, layout) &&
         (layout.tensor_number == TensorNumber::none || number_of_all(tensor, layout));
}

bool needs_new_scales(const OutputTensor& tensor, Container container) {
  if (!is_scaled(tensor.chosen.type, container)) return false;
  const ScaledLayout layout = *scaled_layout(tensor.chosen.type.name);
  return is_in_layout(tensor, layout) && !can_be_moved(tensor, layout);
}

std::int64_t bytes_in(const OutputTensor& tensor, Container container) {
  const DtypeInfo& type = tensor.chosen.type;
  if (!is_scaled(type, container)) return bytes_of(type, tensor.shape.elements());
  const ScaledLayout layout = *scaled_layout(type.name);
  const std::int64_t of_scales =
      layout.tensor_number == TensorNumber::scale_of_scales ? std::int64_t{sizeof(f32)} : 0;
  return layout.codes_of(tensor.shape).elements() +
         bytes_of(layout.scale, layout.scales_of(tensor.shape).elements()) + of_scales;
}

std::string announcement(const ScaledLayout& layout) {
  return "{\"format\": \"" + std::string(layout.format.announced) + "\"}";
}

void declare_scaled(io::SafetensorsWriter& writer, const OutputTensor& tensor) {
  const ScaledLayout layout = *scaled_layout(tensor.chosen.type.name);
  const std::string layer = tensor.name.substr(0, tensor.name.size() - weight_end.size());
  writer.declare(tensor.name, layout.format.codes, layout.codes_of(tensor.shape));
  writer.declare(layer + ".weight_scale", layout.scale, layout.scales_of(tensor.shape));
  if (layout.tensor_number == TensorNumber::scale_of_scales)
    writer.declare(layer + ".weight_scale_2", dtype_info<f32>, Shape{});
  writer.declare(layer + ".comfy_quant", byte_info, Shape{std::ssize(announcement(layout))});
}

}  // namespace precast::conversion
