// ComfyUI's names of the formats that layers are stored in, for reading and for writing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <precast/dtype/scalar.hpp>

namespace precast::weights {

/// The dtype of int8 codes in files, which is not a dtype of the library.
inline constexpr DtypeInfo int8_info{"i8", 1, 1};
/// The dtype of codes in files.
template <class Code>
constexpr DtypeInfo code_info() {
  if constexpr (std::is_same_v<Code, std::int8_t>)
    return int8_info;
  else
    return dtype_info<Code>;
}

/// A format whose codes have scales beside them: what a layer announces, and the safetensors dtype of the
/// codes.
struct ComfyFormat {
  std::string_view announced;
  DtypeInfo codes;
};

/// Codes under one scale, or one for each row.
inline constexpr std::array<ComfyFormat, 4> comfy_row_formats{{
    {"float8_e4m3fn", dtype_info<fp8_e4m3>},
    {"float8_e4m3fn_rowwise", dtype_info<fp8_e4m3>},  // convert_to_quant's name of a scale for each row
    {"float8_e5m2", dtype_info<fp8_e5m2>},
    {"int8_tensorwise", int8_info},
}};
/// Codes in blocks, with scales in the layout of SwizzledScales.
inline constexpr ComfyFormat comfy_mxfp8{"mxfp8", dtype_info<fp8_e4m3>}, comfy_nvfp4{"nvfp4", {"u8", 1, 1}};

/// The row format that is announced so, or the one that ComfyUI has for such codes; nullptr for none.
inline const ComfyFormat* comfy_row_format(std::string_view announced) {
  const auto* const found = std::ranges::find(comfy_row_formats, announced, &ComfyFormat::announced);
  return found == comfy_row_formats.end() ? nullptr : found;
}
inline const ComfyFormat* comfy_row_format_of(const DtypeInfo& codes) {
  const auto* const found = std::ranges::find(comfy_row_formats, codes, &ComfyFormat::codes);
  return found == comfy_row_formats.end() ? nullptr : found;
}

}  // namespace precast::weights
