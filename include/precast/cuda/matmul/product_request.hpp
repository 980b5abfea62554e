// ProductRequest: a product as a library of matrix products is asked for it, and the library that is asked.
// On the device that is cuBLASLt; in the emulator tests put a product of the host in its place.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <precast/cuda/matmul/library_dtypes.hpp>
#include <precast/cuda/matmul/operand_scales.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// The alignment of each matrix in bytes: the largest power of two, 16 at most, on whose multiples all of its
/// rows begin.
struct ProductAlignment {
  std::uint32_t x = 16, weight = 16, out = 16, residual = 16;
  auto operator<=>(const ProductAlignment&) const = default;  // no friend: nvcc 12.0 fails on it
};

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias) + residual, sums in
/// f32, results rounded once. x and weight hold operands, rounded as `operand` says: tf32 in an f32's place.
/// A transposed x lies as [columns, rows], a transposed weight as [columns, features]. All memory is the
/// device's.
struct ProductRequest {
  LibraryDtype operand{}, result{};
  std::int64_t rows = 0, features = 0, columns = 0;
  const void* x = nullptr;
  std::int64_t x_stride = 0;
  const void* weight = nullptr;
  std::int64_t weight_stride = 0;
  bool x_transposed = false, weight_transposed = false;  ///< never of fp8
  void* out = nullptr;
  std::int64_t out_stride = 0;
  bool has_bias = false, has_residual = false;
  const void* bias = nullptr;      ///< [features] of `result`, on a multiple of 16 bytes
  const void* residual = nullptr;  ///< of `result`
  std::int64_t residual_stride = 0;
  ProductAlignment alignment{};
  bool gelu_tanh = false;  ///< never with a residual
  OperandScales scales{};
  void* workspace = nullptr;  ///< as many bytes as the library asks for:
  std::size_t workspace_bytes = 0;
};

/// A library of products: a value, cheap to copy. Without functions it has no code for anything.
struct ProductLibrary {
  /// Whether nothing is known against a product of these sizes, strides, alignments and dtypes, whose
  /// pointers are not set yet.
  std::function<bool(const ProductRequest&)> has_code;
  /// Starts the product on a stream; false, and nothing has happened, where it turns out to have no code for
  /// it.
  std::function<bool(const ProductRequest&, Stream)> multiply;
  /// What it works in: memory of the stream, the same for each product.
  std::size_t workspace_bytes = 0;
};

}  // namespace precast::gpu
