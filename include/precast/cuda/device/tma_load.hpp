// tma_load: asynchronous copies of boxes of a tensor to shared memory by the TMA, which one thread starts
// and an mbarrier counts: cp.async.bulk.tensor of the PTX ISA (sm_90). The tensor is described by a map,
// which the host makes (cuda/device/tensor_map.hpp) and a kernel takes as a parameter.
#pragma once

#include <precast/cuda/device/mbarrier.hpp>

#if PRECAST_ON_DEVICE
#include <cuda.h>
#endif

namespace precast::gpu {

/// The place of a box in a tensor, in values: along a row of contiguous values, and along the three
/// dimensions above.
struct BoxPlace {
  int column, second, third, fourth;
};

#if PRECAST_ON_DEVICE
using TensorMap = CUtensorMap;

/// Starts the copy of a box to a multiple of 128 bytes (and of its swizzle's 8 rows); values outside of the
/// tensor become zeros. The copy counts the bytes of the whole box on `barrier` as they land. `from` must
/// be part of a kernel's parameter that is PRECAST_GRID_CONSTANT.
template <class T>
PRECAST_DEVICE void tma_load(SharedPointer<T> to, const TensorMap& from, const BoxPlace& at,
                             SharedPointer<Mbarrier> barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(to)),
      "l"(&from), "r"(at.column), "r"(at.second), "r"(at.third), "r"(at.fourth), "r"(shared_address(barrier))
      : "memory");
}
#else
using TensorMap = simt::TensorMap;

template <class T>
PRECAST_DEVICE void tma_load(SharedPointer<T> to, const TensorMap& from, const BoxPlace& at,
                             SharedPointer<Mbarrier> barrier) {
  simt::copy_tensor_box(to, from, {at.column, at.second, at.third, at.fourth}, barrier);
}
#endif

}  // namespace precast::gpu
