// Warpgroups: four consecutive warps, the first of them on a multiple of four, which execute wgmma together
// (sm_90a).
#pragma once

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

inline constexpr int warps_per_warpgroup = 4;

/// The rows that a product gives a warpgroup: 16 to each warp, which holds them as the sums of mma.sync.
inline constexpr int warpgroup_rows = 64;

namespace detail {
template <int Count>
inline constexpr bool are_registers = Count % 8 == 0 && Count >= 24 && Count <= 256;
}  // namespace detail

/// Whether kernels for sm_90a are compiled in. The host compiler cannot know nvcc's architectures: the
/// build defines PRECAST_SM_90A, as CMake does where PRECAST_CUDA_ARCHITECTURES holds 90a.
#if PRECAST_ON_DEVICE && !defined(PRECAST_SM_90A)
inline constexpr bool has_sm_90a_kernels = false;
#else
inline constexpr bool has_sm_90a_kernels = true;
#endif

#if PRECAST_ON_DEVICE
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// Whether the code that is being compiled may multiply by warpgroups.
inline constexpr bool has_warpgroup_products = true;
#else
inline constexpr bool has_warpgroup_products = false;
#endif

// thread_local in units with PRECAST_SM_90A only, as with PRECAST_HAS_WATCH (watch/ran_in.hpp): a linker
// refuses to mix them, as one would launch its kernels with the other's shared memory size.
// NOLINTBEGIN(readability-identifier-naming): what linkers say shows the macro's name
#if defined(PRECAST_SM_90A)
[[gnu::used]] inline thread_local char PRECAST_SM_90A_is_the_same_in_all_units = 0;
#else
[[gnu::used]] inline char PRECAST_SM_90A_is_the_same_in_all_units = 0;
#endif
// NOLINTEND(readability-identifier-naming)

/// Lowers (dec) or raises (inc) the registers per thread of the calling warpgroup to a multiple of 8, 24 to
/// 256. Raising waits until others have released theirs. Launch bounds must set the number at the start.
template <int Registers>
PRECAST_DEVICE void setmaxnreg_dec() {
  static_assert(detail::are_registers<Registers>, "setmaxnreg_dec: a multiple of 8, 24 to 256.");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
PRECAST_DEVICE void setmaxnreg_inc() {
  static_assert(detail::are_registers<Registers>, "setmaxnreg_inc: a multiple of 8, 24 to 256.");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
/// Ends a kernel with an error, where it was compiled without a feature that it needs.
PRECAST_DEVICE void stop_kernel() { asm volatile("trap;"); }
#else
inline constexpr bool has_warpgroup_products = true;
template <int Registers>
PRECAST_DEVICE void setmaxnreg_dec() {
  static_assert(detail::are_registers<Registers>, "setmaxnreg_dec: a multiple of 8, 24 to 256.");
}
template <int Registers>
PRECAST_DEVICE void setmaxnreg_inc() {
  static_assert(detail::are_registers<Registers>, "setmaxnreg_inc: a multiple of 8, 24 to 256.");
}
PRECAST_DEVICE void stop_kernel() {}
#endif

}  // namespace precast::gpu
