// The dtypes of products that a library multiplies, and its requirements on parameters.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/matmul/product_types.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// The scalar dtypes that are passed to a library.
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

/// The dtype in which a library reads an operand from memory: f32 for tf32, else the operand's own.
template <ScalarDtype Operand>
using LibraryOperand = std::conditional_t<std::is_same_v<Operand, tf32>, f32, Operand>;

/// Whether the library multiplies these dtypes as the op table says. It sums in f32 (except fp8,
/// docs/kernels.md), rounds results once, to nearest, and does not clamp, except results in fp8. It takes a
/// bias only in the result's dtype, in which one of the weight's storage must be exact.
template <class Types>
inline constexpr bool library_has_dtypes = [] {
  using Operand = typename Types::operand;
  using Result = typename Types::result;
  if constexpr (is_library_dtype<Operand> && is_library_dtype<Result> &&
                ScalarDtype<typename Types::storage>) {
    constexpr bool result_in_16_bits = std::is_same_v<Result, bf16> || std::is_same_v<Result, f16>;
    return std::is_same_v<typename Types::accumulate, f32> && !Types::saturate &&
           (std::is_same_v<Result, f32> ||
            (result_in_16_bits && (std::is_same_v<Result, Operand> || std::is_same_v<Operand, fp8_e4m3>)));
  }
  return false;
}();

/// Whether a weight is stored as the library multiplies it. Other weights are rounded first: to tf32 once,
/// when they are loaded; else for each product with so many rows that the library's speed outweighs reading
/// and writing the weight (`least_rows_of_rounded_weight`).
template <class Types>
inline constexpr bool library_takes_weight = library_has_dtypes<Types>&&
    std::is_same_v<typename Types::storage, LibraryOperand<typename Types::operand>>;

/// Rounding a weight of f32 moves 8 bytes a value. On an H200 this takes the time that the library gains on
/// our tiled kernel, which has a quarter of its rate, at some 220 rows.
inline constexpr std::int64_t least_rows_of_rounded_weight = 256;

/// Whether a bias in the weight's storage is exact in the result's dtype, in which the library takes it.
template <class Types>
inline constexpr bool library_takes_bias = [] {
  if constexpr (library_has_dtypes<Types>)
    return widens_exactly<typename Types::result, typename Types::storage>;
  else  // a storage of blocks, for one
    return false;
}();

/// Whether products with these dtypes, of values that products have returned, want a bias in the result's
/// dtype besides the one in f32 that our own kernels add.
template <class Types>
inline constexpr bool holds_narrow_bias = library_takes_bias<ExactTypes<Types, typename Types::result>> &&
                                          !std::is_same_v<typename Types::result, f32>;

/// Whether products with these dtypes want a weight of f32 rounded to tf32 beside the weight itself.
template <class Types>
inline constexpr bool holds_weight_in_tf32 =
    library_takes_weight<Types>&& std::is_same_v<typename Types::operand, tf32>;

}  // namespace precast::gpu
