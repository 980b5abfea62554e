// ImplicitIm2col: the pixels under a convolution's kernel as rows of a matrix, which no memory ever holds.
#pragma once

#include <cstdint>
#include <string>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// Row `pixel` is [kernel_height, kernel_width, channels], the patch under that output pixel; values
/// outside of the images are zero. The interface is that of MatrixRows.
template <ScalarDtype T>
struct ImplicitIm2col {
  using value_type = T;
  static constexpr bool decoded = false;

  /// The start of a patch: the offset of the image, and the coordinates in it, which may be outside.
  struct Row {
    std::int64_t image;
    int top, left;
    bool there;
  };
  using Extent = typename MatrixRows<T>::Extent;

  GlobalPointer<const T> data;
  std::int64_t rows, pixel_stride;
  int columns, height, width, channels, kernel_width, stride, pad_top, pad_left, out_height, out_width;
  bool wide;  ///< whether 16 bytes of a pixel lie on a multiple of 16, and every pixel is a number of such
              ///< runs

  PRECAST_DEVICE Row row(std::int64_t pixel) const {
    const std::int64_t line = pixel / out_width, image = line / out_height;
    return {planted<"first image for all">(image, std::int64_t{0}) * height * width * pixel_stride,
            static_cast<int>(line - image * out_height) * stride - pad_top,
            static_cast<int>(pixel - line * out_width) * stride - pad_left, pixel < rows};
  }
  /// The `count` values from `column` on, for a count that divides the channels: all of them, or none.
  PRECAST_DEVICE Extent extent(const Row& row, int column, int count) const {
    const std::int64_t offset = place(row, column);
    return offset < 0 ? Extent{0, 0} : Extent{offset, count};
  }
  PRECAST_DEVICE T value(const Row& row, int column) const {
    const std::int64_t offset = place(row, column);
    return offset < 0 ? T{} : data[offset];
  }

 private:
  /// The offset of a value; negative in the padding.
  PRECAST_DEVICE std::int64_t place(const Row& row, int column) const {
    const int tap = column / channels, channel = column - tap * channels;
    const int kernel_row = tap / kernel_width;
    const int y = row.top + kernel_row, x = row.left + tap - kernel_row * kernel_width;
    const bool inside = row.there && column < columns && y >= 0 && y < height && x >= 0 &&
                        planted<"right edge of an image">(x < width, x <= width);
    return inside ? row.image + (std::int64_t{y} * width + x) * pixel_stride + channel : -1;
  }
};

template <ScalarDtype T>
ImplicitIm2col<T> implicit_im2col(DeviceView<const T> x, const ConvSizes& sizes) {
  const auto narrow = [](std::int64_t size) {
    if (size > most_columns)
      throw ShapeError("conv2d: a side of " + std::to_string(size) +
                       " pixels, padding in, is too long for a device");
    return static_cast<int>(size);
  };
  // The last pixels that patches reach: padding at the bottom and right is in no other number.
  narrow((sizes.out_height - 1) * sizes.stride + sizes.kernel_height);
  narrow((sizes.out_width - 1) * sizes.stride + sizes.kernel_width);
  constexpr std::int64_t run = widest_vector<T>;
  return {.data = pointer_to(x),
          .rows = sizes.pixels(),
          .pixel_stride = x.row_stride(),
          .columns = checked_columns(sizes.patch()),
          .height = narrow(sizes.height),
          .width = narrow(sizes.width),
          .channels = checked_columns(sizes.channels),
          .kernel_width = narrow(sizes.kernel_width),
          .stride = narrow(sizes.stride),
          .pad_top = narrow(sizes.pad_top),
          .pad_left = narrow(sizes.pad_left),
          .out_height = narrow(sizes.out_height),
          .out_width = narrow(sizes.out_width),
          .wide = rows_begin_on_16_bytes(x) && sizes.channels % run == 0};
}

}  // namespace precast::gpu
