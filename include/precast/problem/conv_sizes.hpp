// ConvSizes: the sizes that define a convolution.
#pragma once

#include <cstdint>

namespace precast {

/// The sizes of a convolution: from [batch, height, width, channels] to [batch, out_height, out_width,
/// features].
struct ConvSizes {
  std::int64_t batch, height, width, channels;
  std::int64_t kernel_height, kernel_width, stride, pad_top, pad_left;
  std::int64_t out_height, out_width;

  std::int64_t pixels() const { return batch * out_height * out_width; }
  std::int64_t patch() const { return kernel_height * kernel_width * channels; }
};

}  // namespace precast
