// The dtypes of products that a library multiplies, and what it wants of their parameters.
#pragma once

#include <cstdint>
#include <type_traits>

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

/// Whether the library multiplies these dtypes as the op table says. It sums in f32, rounds results once, to
/// nearest, and does not clamp; results in fp8 it would clamp. It takes a bias only in the result's dtype:
/// one of the weight's storage must be exact in it. x is rounded to operands first; a weight only to tf32,
/// once, as it is loaded, because others are multiplied by our tiled kernel faster than they are read and
/// written again, and take less memory as they are.
template <class Types>
inline constexpr bool library_has_dtypes = [] {
  using Operand = typename Types::operand;
  using Result = typename Types::result;
  using Storage = typename Types::storage;
  if constexpr (is_library_dtype<Operand> && is_library_dtype<Result> && ScalarDtype<Storage>) {
    constexpr bool result_in_16_bits = std::is_same_v<Result, bf16> || std::is_same_v<Result, f16>;
    return std::is_same_v<typename Types::accumulate, f32> && !Types::saturate &&
           std::is_same_v<Storage, LibraryOperand<Operand>> && widens_exactly<Result, Storage> &&
           (std::is_same_v<Result, f32> ||
            (result_in_16_bits && (std::is_same_v<Result, Operand> || std::is_same_v<Operand, fp8_e4m3>)));
  }
  return false;
}();

/// Whether products with these dtypes want a bias in the result's dtype beside the one in f32, which is what
/// our own kernels add.
template <class Types>
inline constexpr bool holds_narrow_bias =
    library_has_dtypes<Types> && !std::is_same_v<typename Types::result, f32>;

/// Whether products with these dtypes want a weight of f32 rounded to tf32 beside the weight itself.
template <class Types>
inline constexpr bool holds_weight_in_tf32 =
    library_has_dtypes<Types>&& std::is_same_v<typename Types::operand, tf32>;

}  // namespace precast::gpu
