// nf4: a block dtype that Precast does not have. 64 values of 4 bits that share an f16 scale; the 16 codes
// stand for the levels of QLoRA's normal float (Dettmers et al. 2023, appendix E), which lie dense where
// normally distributed weights do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>

namespace extend {

// [nf4 type]
/// One block as it lies in memory: 34 bytes, 4.25 bits a value.
struct nf4 {
  precast::f16 scale;      ///< the largest magnitude of the block
  std::uint8_t codes[32];  ///< value 2i in the lower half of byte i, value 2i + 1 in the upper one
};
// [nf4 type]

/// What a code of 4 bits stands for, times the scale. Rising.
PRECAST_HOST_DEVICE_CONSTEXPR float nf4_level(int code) {
  constexpr float levels[16] = {
      -1.0f,       -0.69619280f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
      0.07958030f, 0.16093020f,  0.24611230f,  0.33791524f,  0.44070983f,  0.56261700f,  0.72295684f,  1.0f};
  return levels[code];
}

}  // namespace extend

// [nf4 traits]
template <>
struct precast::dtype_traits<extend::nf4> {
  static constexpr std::string_view name = "nf4", safetensors_name = "NF4_64";
  static constexpr int values_per_block = 64, bytes_per_block = sizeof(extend::nf4);

  /// Values [first, first + count) of a block as f32. Kernels call it, on the host and on a device.
  PRECAST_HOST_DEVICE static void decode(const extend::nf4& block, int first, int count, f32* values) {
    const f32 scale = convert_value<f32>(block.scale);
    for (int i = 0; i < count; ++i) {
      const int place = first + i;
      values[i] = scale * extend::nf4_level(block.codes[place / 2] >> (4 * (place % 2)) & 15);
    }
  }
};
// [nf4 traits]

namespace extend {

// [nf4 encode]
/// Writes a block of 64 finite values: each becomes the nearest level.
inline void encode_block(const float* values, nf4& block) {
  float largest = 0;
  for (int i = 0; i < 64; ++i) largest = std::max(largest, std::fabs(values[i]));
  block.scale = precast::convert<precast::f16>(largest);
  const float scale = precast::convert<float>(block.scale);
  for (int i = 0; i < 64; ++i) {
    int nearest = 7;  // 0, which is all that a block without a scale has
    for (int code = 0; code < 16; ++code)
      if (std::fabs(scale * nf4_level(code) - values[i]) < std::fabs(scale * nf4_level(nearest) - values[i]))
        nearest = code;
    std::uint8_t& byte = block.codes[i / 2];
    byte = static_cast<std::uint8_t>(i % 2 ? byte | nearest << 4 : nearest);
  }
}
// [nf4 encode]

}  // namespace extend
