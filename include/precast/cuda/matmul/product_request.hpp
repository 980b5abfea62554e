// ProductRequest: the parameters of a product by a library, and the library that computes it. On the device
// that is cuBLASLt; in the emulator, tests put a product of the host in its place.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <precast/cuda/matmul/library_dtypes.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// The layout of a matrix's rows. The alignment, in bytes, is the largest power of two, 16 at most, on
/// whose multiples all of them begin.
struct RowLayout {
  std::int64_t stride = 0;
  std::uint32_t alignment = 1;
  auto operator<=>(const RowLayout&) const = default;  // no friend: nvcc 12.0 fails on it
};

/// A matrix in the device's memory. Void: void, or const void.
template <class Void>
struct ProductMatrix {
  Void* data = nullptr;
  RowLayout rows{};
};

/// One factor for all of x and one for all of a weight, each an f32 in device memory (null: 1): the sum of
/// products is multiplied by both, before a bias is added. fp8 tensors are stored divided by theirs
/// (Micikevicius et al. 2022).
struct OperandScales {
  const f32* x = nullptr;
  const f32* weight = nullptr;

  bool any() const { return x || weight; }
};

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias) + residual, sums in
/// f32, results rounded once. x and weight hold operands, rounded as `operand` says: tf32 in an f32's place.
/// A transposed x lies as [columns, rows], a transposed weight as [columns, features]. All memory is the
/// device's.
struct ProductRequest {
  LibraryDtype operand{}, result{};
  std::int64_t rows = 0, features = 0, columns = 0;
  ProductMatrix<const void> x{}, weight{};
  bool x_transposed = false, weight_transposed = false;  ///< never of fp8
  ProductMatrix<void> out{};
  bool has_bias = false, has_residual = false;
  const void* bias = nullptr;            ///< [features] of `result`, on a multiple of 16 bytes
  ProductMatrix<const void> residual{};  ///< of `result`
  bool gelu_tanh = false;                ///< never with a residual
  OperandScales scales{};
  void* workspace = nullptr;  ///< as many bytes as the library asks for:
  std::size_t workspace_bytes = 0;
};

/// A library of products: a value, cheap to copy. Without functions it has no code for anything.
struct ProductLibrary {
  /// Whether the library may have code for a product of these sizes, layouts and dtypes. Pointers need not
  /// be set yet.
  std::function<bool(const ProductRequest&)> has_code;
  /// Starts the product on a stream. Returns false, and does nothing, where it turns out that the library
  /// has no code for it.
  std::function<bool(const ProductRequest&, Stream)> multiply;
  /// The bytes of workspace, memory of the stream, that each product needs.
  std::size_t workspace_bytes = 0;

  /// Whether it may be asked for a product, and has code for it. It reads rows in place, which must not
  /// overlap: views from elsewhere may show one row many times, and cuBLASLt refuses a stride shorter than
  /// a row even for a single row.
  bool takes(const ProductRequest& p) const {
    return has_code && p.x.rows.stride >= (p.x_transposed ? p.rows : p.columns) &&
           p.weight.rows.stride >= (p.weight_transposed ? p.features : p.columns) &&
           p.out.rows.stride >= p.features && (!p.has_residual || p.residual.rows.stride >= p.features) &&
           has_code(p);
  }
};

}  // namespace precast::gpu
