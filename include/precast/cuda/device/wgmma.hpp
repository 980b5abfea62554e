// wgmma: asynchronous matrix products of a warpgroup, wgmma.mma_async of the PTX ISA (sm_90a), section
// "Asynchronous warpgroup level matrix instructions", which has the figures of fragments.
#pragma once

#include <cstdint>

#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/smem_descriptor.hpp>
#include <precast/cuda/device/warpgroup.hpp>

namespace precast::gpu {

#if PRECAST_ON_DEVICE
namespace detail {
/// Keeps the compiler from moving accesses to these registers past this point.
template <int Tiles>
PRECAST_DEVICE void hold(AccumulatorFragment (&sums)[Tiles]) {
  PRECAST_UNROLL
  for (int j = 0; j < Tiles; ++j) {
    PRECAST_UNROLL
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[j].values[i])::"memory");
  }
}
}  // namespace detail

/// To be called before the first product of a group: orders the warp's accesses to the registers of the
/// sums, and of the factors, before the products.
template <int Tiles>
PRECAST_DEVICE void wgmma_fence(AccumulatorFragment (&sums)[Tiles], Site = {}) {
  detail::hold(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
template <int Tiles, int Count>
PRECAST_DEVICE void wgmma_fence(AccumulatorFragment (&sums)[Tiles], Fragment<4> (&factors)[Count],
                                Site = {}) {
  PRECAST_UNROLL
  for (int i = 0; i < 4 * Count; ++i) asm volatile("" : "+r"(factors[i / 4].words[i % 4])::"memory");
  wgmma_fence(sums);
}
/// Closes the group of the products that were started since the last one.
PRECAST_DEVICE void wgmma_commit(Site = {}) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most Groups groups of the warp are in flight. Until then no thread may write the shared
/// memory that a group reads, or access the registers of its sums.
template <int Groups, int Tiles>
PRECAST_DEVICE void wgmma_wait(AccumulatorFragment (&sums)[Tiles], Site = {}) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
  detail::hold(sums);
}

#define PRECAST_SUMS_8(j)                                                                             \
  "+f"(sums[j].values[0]), "+f"(sums[j].values[1]), "+f"(sums[j].values[2]), "+f"(sums[j].values[3]), \
      "+f"(sums[j + 1].values[0]), "+f"(sums[j + 1].values[1]), "+f"(sums[j + 1].values[2]),          \
      "+f"(sums[j + 1].values[3])
#define PRECAST_SUMS_32(j) \
  PRECAST_SUMS_8(j), PRECAST_SUMS_8(j + 2), PRECAST_SUMS_8(j + 4), PRECAST_SUMS_8(j + 6)
#define PRECAST_NAMES_32                                                                                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, "                                                                                           \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define PRECAST_NAMES_64                                                                                   \
  PRECAST_NAMES_32                                                                                         \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
  "%52, %53, "                                                                                             \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define PRECAST_WGMMA(shape, accumulate, factors) \
  "{ .reg .pred p; setp.ne.b32 p, " accumulate ", 0; wgmma.mma_async.sync.aligned." shape ", " factors "; }"
#define PRECAST_WGMMA_SHARED_64(type)                                                                 \
  asm volatile(PRECAST_WGMMA("m64n64k16.f32." type "." type " {" PRECAST_NAMES_32 "}", "%34",         \
                             "%32, %33, p, 1, 1, 0, %35")                                             \
               : PRECAST_SUMS_32(0)                                                                   \
               : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)), "n"(Transposed ? 1 : 0) \
               : "memory")
#define PRECAST_WGMMA_SHARED_128(type)                                                                \
  asm volatile(PRECAST_WGMMA("m64n128k16.f32." type "." type " {" PRECAST_NAMES_64 "}", "%66",        \
                             "%64, %65, p, 1, 1, 0, %67")                                             \
               : PRECAST_SUMS_32(0), PRECAST_SUMS_32(8)                                               \
               : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)), "n"(Transposed ? 1 : 0) \
               : "memory")
#define PRECAST_WGMMA_REGISTERS_64(type)                                                          \
  asm volatile(PRECAST_WGMMA("m64n64k16.f32." type "." type " {" PRECAST_NAMES_32 "}", "%37",     \
                             "{%32, %33, %34, %35}, %36, p, 1, 1, %38")                           \
               : PRECAST_SUMS_32(0)                                                               \
               : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "l"(b.bits), \
                 "r"(static_cast<int>(accumulate)), "n"(Transposed ? 1 : 0)                       \
               : "memory")
#define PRECAST_WGMMA_REGISTERS_128(type)                                                         \
  asm volatile(PRECAST_WGMMA("m64n128k16.f32." type "." type " {" PRECAST_NAMES_64 "}", "%69",    \
                             "{%64, %65, %66, %67}, %68, p, 1, 1, %70")                           \
               : PRECAST_SUMS_32(0), PRECAST_SUMS_32(8)                                           \
               : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "l"(b.bits), \
                 "r"(static_cast<int>(accumulate)), "n"(Transposed ? 1 : 0)                       \
               : "memory")

/// Starts sums += A B (sums = A B where not `accumulate`) for A [64, 16], its rows along the depth, and B
/// [16, 8 Tiles], its columns along the depth or, Transposed, its rows. T: bf16 or f16; 64 or 128 columns.
/// All four warps start the same products of the same matrices.
template <ScalarDtype T, bool Transposed, int Tiles>
PRECAST_DEVICE void wgmma(AccumulatorFragment (&sums)[Tiles], SmemDescriptor a, SmemDescriptor b,
                          bool accumulate) {
  static_assert((std::is_same_v<T, bf16> || std::is_same_v<T, f16>)&&(Tiles == 8 || Tiles == 16),
                "wgmma: bf16 or f16 factors, and 64 or 128 columns.");
  if constexpr (std::is_same_v<T, bf16> && Tiles == 8)
    PRECAST_WGMMA_SHARED_64("bf16");
  else if constexpr (std::is_same_v<T, bf16>)
    PRECAST_WGMMA_SHARED_128("bf16");
  else if constexpr (Tiles == 8)
    PRECAST_WGMMA_SHARED_64("f16");
  else
    PRECAST_WGMMA_SHARED_128("f16");
}
/// The same for A in registers: each warp's 16 rows, as the left factor of mma.sync.
template <ScalarDtype T, bool Transposed, int Tiles>
PRECAST_DEVICE void wgmma(AccumulatorFragment (&sums)[Tiles], const Fragment<4>& a, SmemDescriptor b,
                          bool accumulate) {
  static_assert((std::is_same_v<T, bf16> || std::is_same_v<T, f16>)&&(Tiles == 8 || Tiles == 16),
                "wgmma: bf16 or f16 factors, and 64 or 128 columns.");
  if constexpr (std::is_same_v<T, bf16> && Tiles == 8)
    PRECAST_WGMMA_REGISTERS_64("bf16");
  else if constexpr (std::is_same_v<T, bf16>)
    PRECAST_WGMMA_REGISTERS_128("bf16");
  else if constexpr (Tiles == 8)
    PRECAST_WGMMA_REGISTERS_64("f16");
  else
    PRECAST_WGMMA_REGISTERS_128("f16");
}

#undef PRECAST_SUMS_8
#undef PRECAST_SUMS_32
#undef PRECAST_NAMES_32
#undef PRECAST_NAMES_64
#undef PRECAST_WGMMA
#undef PRECAST_WGMMA_SHARED_64
#undef PRECAST_WGMMA_SHARED_128
#undef PRECAST_WGMMA_REGISTERS_64
#undef PRECAST_WGMMA_REGISTERS_128
#else
template <int Tiles>
PRECAST_DEVICE void wgmma_fence(AccumulatorFragment (&sums)[Tiles], Site site = Site::here()) {
  simt::wgmma_fence({sums, 4 * Tiles}, {}, site);
}
template <int Tiles, int Count>
PRECAST_DEVICE void wgmma_fence(AccumulatorFragment (&sums)[Tiles], Fragment<4> (&factors)[Count],
                                Site site = Site::here()) {
  simt::wgmma_fence({sums, 4 * Tiles}, {factors, 4 * Count}, site);
}
using simt::wgmma_commit;
template <int Groups, int Tiles>
PRECAST_DEVICE void wgmma_wait(AccumulatorFragment (&)[Tiles], Site site = Site::here()) {
  simt::wgmma_wait(Groups, site);
}
template <ScalarDtype T, bool Transposed, int Tiles>
PRECAST_DEVICE void wgmma(AccumulatorFragment (&sums)[Tiles], SmemDescriptor a, SmemDescriptor b,
                          bool accumulate, Site site = Site::here()) {
  simt::wgmma<T, 8 * Tiles, Transposed>(sums[0].values, a.bits, b.bits, accumulate, site);
}
template <ScalarDtype T, bool Transposed, int Tiles>
PRECAST_DEVICE void wgmma(AccumulatorFragment (&sums)[Tiles], const Fragment<4>& a, SmemDescriptor b,
                          bool accumulate, Site site = Site::here()) {
  simt::wgmma<T, 8 * Tiles, Transposed>(sums[0].values, a.words, b.bits, accumulate, site);
}
#endif

}  // namespace precast::gpu
