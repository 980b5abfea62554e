// ConvRequest: a convolution as a library is asked for it, and the library that is asked. On the device that
// is cuDNN; in the emulator tests put a convolution of the host in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/conv_sizes.hpp>

namespace precast::gpu {

/// out [pixels, features] = patches of x times weight [features, kernel_height, kernel_width, channels]^T +
/// bias, sums in f32, results rounded once. All is of one dtype and in the memory of the device; pixels of x
/// and out may lie apart.
struct ConvRequest {
  LibraryDtype dtype{};
  ConvSizes sizes{};  ///< padded alike on opposite sides
  std::int64_t features = 0;
  std::int64_t x_stride = 0, out_stride = 0;
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  void* out = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;  ///< those that the library asks for
};

/// A library of convolutions: a value, cheap to copy. Without functions it has no code for anything.
struct ConvLibrary {
  /// Whether nothing is known against a convolution of these sizes, strides and dtype, whose pointers are not
  /// set yet.
  std::function<bool(const ConvRequest&)> has_code;
  /// Starts the convolution on a stream; false, and nothing has happened, where it turns out to have no code
  /// for it.
  std::function<bool(const ConvRequest&, Stream)> convolve;
  /// How many bytes a convolution that it has code for works in.
  std::function<std::size_t(const ConvRequest&)> workspace_bytes;
};

}  // namespace precast::gpu
