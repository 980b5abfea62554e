// mma_sync and ldmatrix: the matrix products of a warp, mma.sync and ldmatrix of the PTX ISA, section
// "Warp-level matrix instructions", which has figures of which lane holds what.
#pragma once

#include <bit>
#include <cstdint>

#include <precast/cuda/device/memory.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// A lane's part of a matrix, in 32-bit words: two 16-bit values, four 8-bit values or one tf32 (in an f32's
/// place) a word.
template <int Words>
struct Fragment {
  std::uint32_t words[Words];
};

/// A lane's part of a 16 x 8 matrix of f32 sums: rows lane/4 (0, 1) and lane/4 + 8 (2, 3), columns 2(lane%4)
/// and the next.
struct AccumulatorFragment {
  f32 values[4] = {};
};

/// Columns of A, rows of B, that one product of T takes: 32 bytes.
template <ScalarDtype T>
inline constexpr int product_depth = std::is_same_v<T, tf32> ? 8 : 32 / static_cast<int>(sizeof(T));

#if PRECAST_ON_DEVICE
/// Loads Count (1, 2 or 4) 8 x 8 matrices of 16-bit values. Lane l passes the address of row l % 8 of matrix
/// l / 8, a multiple of 16; lane l receives values 2(l % 4) and the next of row l / 4, or with Transposed of
/// that column.
template <int Count, bool Transposed = false, class T>
PRECAST_DEVICE Fragment<Count> ldmatrix(SharedPointer<const T> row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  Fragment<Count> to;
  if constexpr (Count == 4 && !Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.words[0]), "=r"(to.words[1]), "=r"(to.words[2]), "=r"(to.words[3])
                 : "r"(address)
                 : "memory");
  else if constexpr (Count == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.words[0]), "=r"(to.words[1]), "=r"(to.words[2]), "=r"(to.words[3])
                 : "r"(address)
                 : "memory");
  else if constexpr (Count == 2 && !Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to.words[0]), "=r"(to.words[1])
                 : "r"(address)
                 : "memory");
  else if constexpr (Count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to.words[0]), "=r"(to.words[1])
                 : "r"(address)
                 : "memory");
  else if constexpr (Count == 1 && !Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(to.words[0])
                 : "r"(address)
                 : "memory");
  else if constexpr (Count == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(to.words[0])
                 : "r"(address)
                 : "memory");
  else
    static_assert(Count == 1, "ldmatrix: 1, 2 or 4 matrices at a time.");
  return to;
}

/// Loads one 32-bit value of a tile as the word of a fragment, where ldmatrix cannot transpose. `volatile`
/// keeps the load among the products: each load that a compiler hoists above them costs a register.
PRECAST_DEVICE std::uint32_t load_word(SharedPointer<const f32> from) {
  std::uint32_t word;
  asm volatile("ld.shared.b32 %0, [%1];"
               : "=r"(word)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from)))
               : "memory");
  return word;
}

/// sums += A B, A [16, product_depth<T>] by rows, B [product_depth<T>, 8] by columns; T: bf16, f16, tf32,
/// fp8_e4m3 or fp8_e5m2 (the last two from sm_89 on).
template <ScalarDtype T>
PRECAST_DEVICE void mma_sync(AccumulatorFragment& sums, const Fragment<4>& a, const Fragment<2>& b) {
  f32(&d)[4] = sums.values;
#define PRECAST_MMA(instruction)                                                                      \
  asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"         \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                       \
               : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]), \
                 "r"(b.words[1]))
  if constexpr (std::is_same_v<T, bf16>)
    PRECAST_MMA("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
  else if constexpr (std::is_same_v<T, f16>)
    PRECAST_MMA("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  else if constexpr (std::is_same_v<T, tf32>)
    PRECAST_MMA("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32");
  else if constexpr (std::is_same_v<T, fp8_e4m3>)
    PRECAST_MMA("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32");
  else if constexpr (std::is_same_v<T, fp8_e5m2>)
    PRECAST_MMA("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32");
  else
    static_assert(std::is_same_v<T, bf16>, "mma_sync: tensor cores take bf16, f16, tf32 or fp8 operands.");
#undef PRECAST_MMA
}
#else
template <int Count, bool Transposed = false, class T>
PRECAST_DEVICE Fragment<Count> ldmatrix(SharedPointer<T> row, Site site = Site::here()) {
  static_assert(Count == 1 || Count == 2 || Count == 4, "ldmatrix: 1, 2 or 4 matrices at a time.");
  Fragment<Count> to;
  simt::ldmatrix<Count, Transposed>(row, to.words, site);
  return to;
}
PRECAST_DEVICE std::uint32_t load_word(SharedPointer<const f32> from) {
  return bit_cast<std::uint32_t>(*from);
}
template <ScalarDtype T>
PRECAST_DEVICE void mma_sync(AccumulatorFragment& sums, const Fragment<4>& a, const Fragment<2>& b,
                             Site site = Site::here()) {
  simt::mma_sync<T>(sums.values, a.words, b.words, site);
}
#endif

}  // namespace precast::gpu
