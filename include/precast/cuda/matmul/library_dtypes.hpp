// The dtypes of products that a library multiplies, and what it wants of their parameters.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/matmul/product_types.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

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

/// How an operand lies in memory for a library: tf32 in an f32's place, the rest as it is.
template <ScalarDtype Operand>
using LibraryOperand = std::conditional_t<std::is_same_v<Operand, tf32>, f32, Operand>;

/// Whether the library multiplies these dtypes as the op table says. It sums in f32 (but fp8,
/// docs/kernels.md), rounds results once, to nearest, and does not clamp; results in fp8 it would clamp. It
/// takes a bias only in the result's dtype: one of the weight's storage must be exact in it.
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

/// Whether a weight lies in memory as the library multiplies it. Others are rounded first: to tf32 once, as
/// they are loaded; else for each product, where it has so many rows that the library's speed is worth what
/// reading and writing the weight takes (`least_rows_of_rounded_weight`).
template <class Types>
inline constexpr bool library_takes_weight = library_has_dtypes<Types>&&
    std::is_same_v<typename Types::storage, LibraryOperand<typename Types::operand>>;

/// A weight of f32 is read and written in 8 bytes a value, which an H200 does in the time in which the
/// library is ahead of our tiled kernel, which has a quarter of its rate, by some 220 rows.
inline constexpr std::int64_t least_rows_of_rounded_weight = 256;

/// Whether a bias in the weight's storage is exact in the result's dtype, in which the library takes it.
template <class Types>
inline constexpr bool library_takes_bias = [] {
  if constexpr (library_has_dtypes<Types>)
    return widens_exactly<typename Types::result, typename Types::storage>;
  else  // a storage of blocks, for one
    return false;
}();

/// Whether products with these dtypes, of values as products leave them, want a bias in the result's dtype
/// beside the one in f32, which is what our own kernels add.
template <class Types>
inline constexpr bool holds_narrow_bias = library_takes_bias<ExactTypes<Types, typename Types::result>> &&
                                          !std::is_same_v<typename Types::result, f32>;

/// Whether products with these dtypes want a weight of f32 rounded to tf32 beside the weight itself.
template <class Types>
inline constexpr bool holds_weight_in_tf32 =
    library_takes_weight<Types>&& std::is_same_v<typename Types::operand, tf32>;

}  // namespace precast::gpu
