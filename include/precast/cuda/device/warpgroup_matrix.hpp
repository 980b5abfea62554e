// Products of matrices that four warps compute together while they go on: wgmma of the PTX ISA (sm_90a),
// section "Asynchronous warpgroup level matrix instructions", which has the pictures of fragments and of
// matrices in shared memory. A warpgroup is four warps, the first of them on a multiple of four.
#pragma once

#include <cstdint>

#include <precast/cuda/device/matrix.hpp>
#include <precast/cuda/device/shared.hpp>
#include <precast/cuda/device/swizzle.hpp>

namespace precast::cuda {

inline constexpr int warps_per_warpgroup = 4;

/// The rows that a product gives a warpgroup: 16 to each warp, which holds them as the sums of mma.sync.
inline constexpr int warpgroup_rows = 64;

/// A matrix in shared memory, as products take it (the PTX ISA's matrix descriptor).
struct SharedMatrix {
  std::uint64_t bits;
};

/// A matrix of 16-bit values that starts at `address`. What `leading_bytes` and `stride_bytes` are depends on
/// how it lies (the PTX ISA: leading dimension and stride dimension byte offset). In swizzled rows along the
/// depth, 64 values in 128 bytes, stride_bytes are from eight rows to the next eight, and leading_bytes
/// nothing; in rows across the depth, stride_bytes are from eight steps of depth to the next eight, and
/// leading_bytes from a row's values to those that continue it. Swizzled tiles start on a multiple of eight
/// rows; in them, depth goes on by whole chunks.
PRECAST_DEVICE SharedMatrix shared_matrix(std::uint32_t address, Swizzle swizzle, int leading_bytes,
                                          int stride_bytes) {
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  const std::uint64_t code = swizzle == Swizzle::none ? 0 : 4 - static_cast<std::uint64_t>(swizzle);
  return {field(address) | field(static_cast<std::uint32_t>(leading_bytes)) << 16 |
          field(static_cast<std::uint32_t>(stride_bytes)) << 32 | code << 62};
}

#if PRECAST_ON_DEVICE
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// Whether the code that is being compiled may multiply by warpgroups.
inline constexpr bool has_warpgroup_products = true;
#else
inline constexpr bool has_warpgroup_products = false;
#endif

/// Changes how many registers each thread of the calling warpgroup has: fewer, or more as soon as others have
/// given theirs. A multiple of 8, 24 to 256. Under a launch bound that says how many there are at the start.
template <int Registers>
PRECAST_DEVICE void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
PRECAST_DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
/// Ends a kernel with an error: where one was compiled without what it needs.
PRECAST_DEVICE void stop_kernel() { asm volatile("trap;"); }

namespace detail {
/// Keeps a compiler from moving what it does to registers past this place.
template <int Tiles>
PRECAST_DEVICE void hold(Sums (&sums)[Tiles]) {
  PRECAST_UNROLL for (int j = 0; j < Tiles; ++j)
      PRECAST_UNROLL for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[j].values[i])::"memory");
}
}  // namespace detail

/// Before the first product of a group: products see what the warp has done to the registers of their sums,
/// and of their factors.
template <int Tiles>
PRECAST_DEVICE void fence_products(Sums (&sums)[Tiles], Site = {}) {
  detail::hold(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
template <int Tiles, int Count>
PRECAST_DEVICE void fence_products(Sums (&sums)[Tiles], Fragment<4> (&factors)[Count], Site = {}) {
  PRECAST_UNROLL for (int i = 0; i < 4 * Count;
                      ++i) asm volatile("" : "+r"(factors[i / 4].words[i % 4])::"memory");
  fence_products(sums);
}
/// Closes the group of the products that were started since the last one.
PRECAST_DEVICE void commit_products(Site = {}) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most Groups groups of the warp are under way. Until then nobody may write the matrices in
/// shared memory that they read, nor look at their sums.
template <int Groups, int Tiles>
PRECAST_DEVICE void wait_products(Sums (&sums)[Tiles], Site = {}) {
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
PRECAST_DEVICE void multiply_group(Sums (&sums)[Tiles], SharedMatrix a, SharedMatrix b, bool accumulate) {
  static_assert((std::is_same_v<T, bf16> || std::is_same_v<T, f16>)&&(Tiles == 8 || Tiles == 16),
                "multiply_group: bf16 or f16 factors, and 64 or 128 columns.");
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
PRECAST_DEVICE void multiply_group(Sums (&sums)[Tiles], const Fragment<4>& a, SharedMatrix b,
                                   bool accumulate) {
  static_assert((std::is_same_v<T, bf16> || std::is_same_v<T, f16>)&&(Tiles == 8 || Tiles == 16),
                "multiply_group: bf16 or f16 factors, and 64 or 128 columns.");
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
inline constexpr bool has_warpgroup_products = true;
template <int Registers>
PRECAST_DEVICE void keep_registers() {}
template <int Registers>
PRECAST_DEVICE void take_registers() {}
PRECAST_DEVICE void stop_kernel() {}

template <int Tiles>
PRECAST_DEVICE void fence_products(Sums (&sums)[Tiles], Site site = Site::here()) {
  simt::fence_products({sums, 4 * Tiles}, {}, site);
}
template <int Tiles, int Count>
PRECAST_DEVICE void fence_products(Sums (&sums)[Tiles], Fragment<4> (&factors)[Count],
                                   Site site = Site::here()) {
  simt::fence_products({sums, 4 * Tiles}, {factors, 4 * Count}, site);
}
using simt::commit_products;
template <int Groups, int Tiles>
PRECAST_DEVICE void wait_products(Sums (&)[Tiles], Site site = Site::here()) {
  simt::wait_products(Groups, site);
}
template <ScalarDtype T, bool Transposed, int Tiles>
PRECAST_DEVICE void multiply_group(Sums (&sums)[Tiles], SharedMatrix a, SharedMatrix b, bool accumulate,
                                   Site site = Site::here()) {
  simt::multiply_group<T, 8 * Tiles, Transposed>(sums[0].values, a.bits, b.bits, accumulate, site);
}
template <ScalarDtype T, bool Transposed, int Tiles>
PRECAST_DEVICE void multiply_group(Sums (&sums)[Tiles], const Fragment<4>& a, SharedMatrix b, bool accumulate,
                                   Site site = Site::here()) {
  simt::multiply_group<T, 8 * Tiles, Transposed>(sums[0].values, a.words, b.bits, accumulate, site);
}
#endif

}  // namespace precast::cuda
