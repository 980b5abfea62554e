// ldmatrix and mma.sync: a warp's loads and products of small matrices.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <simt/pointer.hpp>
#include <simt/site.hpp>

#include <precast/dtype/scalar.hpp>

namespace simt {

namespace detail {
struct MatrixRow {
  const void* address = nullptr;  ///< null: this lane's row is not asked for
  std::uint16_t values[8] = {};
};
/// The lane that asks for a row: the first 8 Count lanes do.
bool passes_row(int count);
void ldmatrix(int count, bool transposed, const MatrixRow& row, std::uint32_t* words, Site site);

enum class Operand { bf16, f16, tf32, fp8_e4m3, fp8_e5m2 };
void mma_sync(Operand operand, float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Site site);

template <class T>
constexpr Operand operand_of() {
  if constexpr (std::is_same_v<T, precast::bf16>) {
    return Operand::bf16;
  } else if constexpr (std::is_same_v<T, precast::f16>) {
    return Operand::f16;
  } else if constexpr (std::is_same_v<T, precast::tf32>) {
    return Operand::tf32;
  } else if constexpr (std::is_same_v<T, precast::fp8_e4m3>) {
    return Operand::fp8_e4m3;
  } else {
    static_assert(std::is_same_v<T, precast::fp8_e5m2>,
                  "mma_sync: tensor cores take bf16, f16, tf32 or fp8 operands.");
    return Operand::fp8_e5m2;
  }
}
}  // namespace detail

/// Loads Count 8 x 8 matrices of 16-bit values; each row must lie on a multiple of 16 bytes.
template <int Count, bool Transposed, class T>
void ldmatrix(Pointer<T, Space::shared> row, std::uint32_t (&words)[Count], Site site = Site::here()) {
  detail::MatrixRow mine;
  if (detail::passes_row(Count)) {
    // Read by the lane itself, so that ThreadSanitizer sees who reads.
    mine.address = row.checked_bytes(sizeof mine.values, sizeof mine.values);
    std::memcpy(mine.values, mine.address, sizeof mine.values);
  }
  detail::ldmatrix(Count, Transposed, mine, words, site);
}

/// sums += A B of a warp, as mma.sync does (runtime/mma.cpp says how it sums).
template <class T>
void mma_sync(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Site site = Site::here()) {
  detail::mma_sync(detail::operand_of<T>(), sums, a, b, site);
}

}  // namespace simt
