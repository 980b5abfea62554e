// StoredFormat: a number format that weights can be stored in, for the program's commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <precast/dtype/dtype.hpp>
#include <precast/quant/encode_options.hpp>

namespace precast::formats {

/// A scalar or block dtype at run time: its facts, its encoder and its decoder.
struct StoredFormat {
  std::string name;                   ///< "q4_k"
  double bits = 0;                    ///< per value, scales of blocks included: 4.5
  DtypeInfo info;                     ///< values and bytes of a block
  std::optional<FloatFormat> scalar;  ///< of a scalar: its bits, and which codes are no numbers
  std::string_view file_name;         ///< as safetensors files name it; "" where they hold none
  bool holds_f16_range = false;       ///< whether every value up to 65504 comes back finite
  bool of_rows = false;               ///< whether a block is a whole row (dtype/blocks/scaled_rows.hpp)
  /// safetensors files hold matrices in multiples of these, to which ComfyUI pads them: their scales lie in
  /// the order of tensor cores.
  std::int64_t tile_rows = 1, tile_columns = 1;

  /// Writes the values of whole blocks as f32. `bytes` may lie at any address. Where blocks are rows, as
  /// many rows as the bytes have scales.
  void (*decode)(std::span<const std::byte> bytes, std::span<f32> values) = nullptr;
  /// Encodes values, which fill whole blocks, to `bytes`, at an address for which blocks are aligned.
  /// Scalars are rounded once. Throws InputError for values that are not finite, where the format is of
  /// blocks, and for an encoder that it does not have.
  void (*encode)(std::span<const f32> values, std::span<std::byte> bytes,
                 const quant::EncodeOptions& options) = nullptr;
};

/// Bits per value: 4.5 for q4_k.
constexpr double bits_per_value(const DtypeInfo& type) {
  return 8.0 * type.bytes_per_block / type.values_per_block;
}

}  // namespace precast::formats
