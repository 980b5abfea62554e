// mxfp4 nvfp4 mxfp6_e3m2 mxfp6_e2m3 mxfp8: floats of 4, 6 and 8 bits under scales of 8 bits. mxfp4 and
// nvfp4 have ggml's layouts; the others are OCP's Microscaling formats with their scale in front
// (docs/quantisation.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <precast/dtype/blocks/in_pieces.hpp>

namespace precast {

/// 32 values of e2m1 and a power of two.
struct mxfp4 {
  std::uint8_t scale;    ///< e8m0: 2^(scale - 127)
  std::uint8_t low[16];  ///< the code of value i, and above it that of value i + 16
};

/// 4 groups of 16 values of e2m1, each with a scale of e4m3 without sign.
struct nvfp4 {
  std::uint8_t scales[4];
  std::uint8_t low[32];  ///< 8 bytes a group: the code of value i, and above it that of value i + 8
};

/// 32 values of e3m2 and a power of two.
struct mxfp6_e3m2 {
  std::uint8_t scale;      ///< e8m0; 255 says that all values are NaN
  std::uint8_t codes[24];  ///< the six bits of value i from bit 6 i on, the lowest of a byte first
};

/// The same with e2m3: a smaller range in steps half as wide.
struct mxfp6_e2m3 {
  std::uint8_t scale;
  std::uint8_t codes[24];
};

/// 32 values of e4m3 and a power of two.
struct mxfp8 {
  std::uint8_t scale;  ///< e8m0; 255 says that all values are NaN
  std::uint8_t codes[32];
};

namespace detail {

/// An element that only blocks hold, of fewer than 8 bits; alone it takes a byte. Every code is a number.
template <int exponent_bits, int mantissa_bits>
struct BlockElement {
  std::uint8_t bits = 0;
};
using e3m2 = BlockElement<3, 2>;
using e2m3 = BlockElement<2, 3>;
using e2m1 = BlockElement<2, 1>;

}  // namespace detail

template <int exponent_bits, int mantissa_bits>
struct dtype_traits<detail::BlockElement<exponent_bits, mantissa_bits>>
    : detail::scalar_traits<detail::BlockElement<exponent_bits, mantissa_bits>> {
  static constexpr char letters[] = {'e', '0' + exponent_bits, 'm', '0' + mantissa_bits};
  static constexpr std::string_view name{letters, sizeof letters};
  static constexpr FloatFormat format{exponent_bits, mantissa_bits, Specials::none};
};

/// Scalars that only blocks hold, widest first. mxfp8's elements are fp8_e4m3.
using BlockElements = DtypeList<detail::e3m2, detail::e2m3, detail::e2m1>;

namespace detail {

/// A block of mxfp6, of either code.
template <class Block>
concept Mxfp6 = std::is_same_v<Block, mxfp6_e3m2> || std::is_same_v<Block, mxfp6_e2m3>;
/// A block as OCP's specification has it, whose scale is e8m0; and the dtype of its elements.
template <class Block>
concept Microscaled = Mxfp6<Block> || std::is_same_v<Block, mxfp8>;
template <Microscaled Block>
using element_of = std::conditional_t<std::is_same_v<Block, mxfp8>, fp8_e4m3,
                                      std::conditional_t<std::is_same_v<Block, mxfp6_e3m2>, e3m2, e2m3>>;

/// The code of value i of 32; four codes take three bytes.
PRECAST_HOST_DEVICE std::uint8_t six_bits_at(const std::uint8_t* codes, int i) {
  const std::uint8_t* const three = codes + i / 4 * 3;
  const std::uint32_t bits = three[0] | std::uint32_t{three[1]} << 8 | std::uint32_t{three[2]} << 16;
  return static_cast<std::uint8_t>(bits >> (6 * (i % 4)) & 63);
}

/// Elements [first, first + count) of codes, times a scale.
template <Microscaled Block>
PRECAST_HOST_DEVICE void decode_elements(const std::uint8_t* codes, int first, int count, f32 scale,
                                         f32* values) {
  for (int i = 0; i < count; ++i) {
    std::uint8_t code;
    if constexpr (Mxfp6<Block>)
      code = six_bits_at(codes, first + i);
    else
      code = codes[first + i];
    values[i] = product_with_subnormals(convert_value<f32>(element_of<Block>{code}), scale);
  }
}

/// Twice the number of an e2m1 code.
PRECAST_HOST_DEVICE_CONSTEXPR int twice_e2m1(int code) {
  constexpr std::int8_t values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  return values[code];
}

/// Half of mxfp4's scale, 2^(code - 128), as f32: what twice_e2m1 is multiplied by. Code 255 is a number too.
PRECAST_HOST_DEVICE_CONSTEXPR f32 half_e8m0(std::uint8_t code) {
  const std::uint32_t word = code < 2 ? std::uint32_t{0x00200000} << code : (std::uint32_t{code} - 1) << 23;
  return bit_cast<f32>(word);
}

/// The scale of mxfp6 and mxfp8, 2^(code - 127); NaN for 255.
PRECAST_HOST_DEVICE_CONSTEXPR f32 e8m0(std::uint8_t code) {
  if (code == 255) return __builtin_nanf("");
  return bit_cast<f32>(code == 0 ? std::uint32_t{0x00400000} : std::uint32_t{code} << 23);
}

/// Half of nvfp4's scale. The code that is NaN in e4m3 is 0 here, and the sign has no meaning.
PRECAST_HOST_DEVICE f32 half_unsigned_e4m3(std::uint8_t code) {
  if (code == 0x7f) return 0;
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const f32 significand = static_cast<f32>(exponent ? mantissa + 8 : mantissa);
  // 2^-3 for the mantissa, 2^-7 for the bias, 2^-1 for the half.
  const int power = (exponent ? exponent : 1) - 3 - 7 - 1;
  return significand * bit_cast<f32>(static_cast<std::uint32_t>(power + 127) << 23);
}

}  // namespace detail

template <>
struct dtype_traits<mxfp4> : detail::decoded_in_pieces<mxfp4, 32, 17, 16> {
  static constexpr std::string_view name = "mxfp4";
  PRECAST_HOST_DEVICE static void decode_piece(const mxfp4& block, int half, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_e8m0(block.scale);
    for (int i = 0; i < count; ++i)
      values[i] = detail::product_with_subnormals(
          static_cast<f32>(detail::twice_e2m1((block.low[first + i] >> (4 * half)) & 15)), scale);
  }
};

template <>
struct dtype_traits<nvfp4> : detail::decoded_in_pieces<nvfp4, 64, 36, 8> {
  static constexpr std::string_view name = "nvfp4";
  PRECAST_HOST_DEVICE static void decode_piece(const nvfp4& block, int piece, int first, int count,
                                               f32* values) {
    const int group = piece / 2, half = piece % 2;
    const f32 scale = detail::half_unsigned_e4m3(block.scales[group]);
    const std::uint8_t* low = block.low + 8 * group + first;
    for (int i = 0; i < count; ++i)
      values[i] = static_cast<f32>(detail::twice_e2m1((low[i] >> (4 * half)) & 15)) * scale;
  }
};

namespace detail {
template <Microscaled Block>
struct microscaled_traits : decoded_in_pieces<Block, 32, sizeof(Block), 32> {
  PRECAST_HOST_DEVICE static void decode_piece(const Block& block, int, int first, int count, f32* values) {
    decode_elements<Block>(block.codes, first, count, e8m0(block.scale), values);
  }
};
}  // namespace detail

template <>
struct dtype_traits<mxfp6_e3m2> : detail::microscaled_traits<mxfp6_e3m2> {
  static constexpr std::string_view name = "mxfp6_e3m2", safetensors_name = "MXFP6_E3M2";
};
template <>
struct dtype_traits<mxfp6_e2m3> : detail::microscaled_traits<mxfp6_e2m3> {
  static constexpr std::string_view name = "mxfp6_e2m3", safetensors_name = "MXFP6_E2M3";
};

template <>
struct dtype_traits<mxfp8> : detail::microscaled_traits<mxfp8> {
  static constexpr std::string_view name = "mxfp8";
};

}  // namespace precast
