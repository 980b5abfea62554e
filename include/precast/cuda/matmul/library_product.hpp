// LibraryProduct: a product as a library of matrix products is asked for it, and the library that is asked.
// On the device that is cuBLASLt; in the emulator tests put a product of the host in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

#include <precast/cuda/runtime/stream.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::cuda {

/// The scalar dtypes as a library is told of them.
enum class LibraryDtype : std::uint8_t { f32, tf32, bf16, f16, fp8_e4m3 };

/// Whether a dtype is among them.
template <class T>
inline constexpr bool is_library_dtype =
    std::is_same_v<T, f32> || std::is_same_v<T, tf32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16> ||
    std::is_same_v<T, fp8_e4m3>;
template <class T>
  requires is_library_dtype<T>
consteval LibraryDtype library_dtype() {
  if constexpr (std::is_same_v<T, f32>) return LibraryDtype::f32;
  if constexpr (std::is_same_v<T, tf32>) return LibraryDtype::tf32;
  if constexpr (std::is_same_v<T, bf16>) return LibraryDtype::bf16;
  if constexpr (std::is_same_v<T, f16>) return LibraryDtype::f16;
  return LibraryDtype::fp8_e4m3;
}

/// Factors of f32 in device memory that fp8 operands are multiplied with; null: 1.
struct OperandScales {
  const f32* x = nullptr;
  const f32* weight = nullptr;
};

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias) + residual, sums in
/// f32, results rounded once. x and weight lie in memory as `operand` says, tf32 as f32 values that are not
/// rounded yet; rows begin on multiples of 16 bytes. All memory is the device's.
struct LibraryProduct {
  LibraryDtype operand{}, result{};
  std::int64_t rows = 0, features = 0, columns = 0;
  const void* x = nullptr;
  std::int64_t x_stride = 0;
  const void* weight = nullptr;
  std::int64_t weight_stride = 0;
  void* out = nullptr;
  std::int64_t out_stride = 0;
  const f32* bias = nullptr;       ///< null: none; its values are values of `result`
  const void* residual = nullptr;  ///< of `result`; null: none
  std::int64_t residual_stride = 0;
  bool gelu_tanh = false;  ///< never with a residual
  OperandScales scales{};
};

/// A library of products: a value, cheap to copy. Without a function it takes nothing.
struct ProductLibrary {
  /// Starts the product on a stream and returns true, or returns false where the library has no code for it.
  std::function<bool(const LibraryProduct&, Stream)> multiply;

  bool takes(const LibraryProduct& product, Stream stream) const {
    return multiply && multiply(product, stream);
  }
};

}  // namespace precast::cuda
