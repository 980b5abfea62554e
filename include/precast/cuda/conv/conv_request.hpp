// ConvRequest: the parameters of a convolution by a library, and the library that computes it. On the
// device that is cuDNN; in the emulator, tests put a convolution of the host in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/conv_sizes.hpp>

namespace precast::gpu {

/// out [pixels, features] = patches of x times weight [features, kernel_height, kernel_width, channels]^T +
/// bias, sums in f32, results rounded once. All arrays have one dtype and are in device memory; the pixels
/// of x and out may be strided.
struct ConvRequest {
  LibraryDtype dtype{};
  ConvSizes sizes{};  ///< with the same padding on opposite sides
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
  /// Whether the library may have code for a convolution of these sizes, strides and dtype. Pointers need
  /// not be set yet.
  std::function<bool(const ConvRequest&)> has_code;
  /// Starts the convolution on a stream. Returns false, and does nothing, where it turns out that the
  /// library has no code for it.
  std::function<bool(const ConvRequest&, Stream)> convolve;
  /// The bytes of workspace of a convolution that it has code for.
  std::function<std::size_t(const ConvRequest&)> workspace_bytes;
};

}  // namespace precast::gpu
