// BlockGemv: GEMV and skinny GEMM with a weight in blocks of a run-time format. Either codes are
// multiplied directly, and each sum of a few products by the scale of its group; or values are, as they
// are decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <precast/dtype/dtype.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/host/onednn/onednn.hpp>

namespace precast::host {

/// Whether an operand represents every code, an integer from -128 to 127, exactly.
template <ScalarDtype Operand>
inline constexpr bool codes_are_operands = dtype_traits<Operand>::format.mantissa_bits >= 7 &&
                                           dtype_traits<Operand>::format.max() >= 128;

/// The functions of one format, for x in T; empty where a format has no such product.
template <OneDnnOperand T>
struct BlockGemv {
  /// Bytes of one row of x in the order of its codes.
  using RowBytes = std::int64_t (*)(std::int64_t columns);
  /// Arranges a row of x in that order.
  using Arrange = void (*)(std::span<const T> x, std::byte* to);
  /// sums[row * stride + feature] = x[row] . weight[feature], of 1, 2 or 4 arranged rows, which lie
  /// row_bytes(columns) apart.
  using Multiply = void (*)(const BlockRows& weight, std::int64_t features, std::int64_t columns,
                            const std::byte* x, std::int64_t rows, f32* sums, std::int64_t stride);

  RowBytes row_bytes = nullptr;
  Arrange arrange = nullptr;
  Multiply multiply = nullptr;
};

namespace detail {

/// The prefetch distance in bytes of blocks: enough for the latency of memory, little enough for the L1
/// cache.
inline constexpr std::int64_t block_bytes_ahead = 3072;

/// Calls `multiply` with the number of arranged rows as a constant.
template <class Multiply>
void with_arranged_rows(std::int64_t rows, const Multiply& multiply) {
  if (rows == 1) return multiply(std::integral_constant<int, 1>{});
  if (rows == 2) return multiply(std::integral_constant<int, 2>{});
  multiply(std::integral_constant<int, 4>{});
}

}  // namespace detail

/// The functions of the format of that name. Defined in host/blocks/block_dots.hpp; the pipeline links one
/// unit for each T (kernels/).
template <OneDnnOperand T>
BlockGemv<T> block_gemv_for(std::string_view format);

}  // namespace precast::host
