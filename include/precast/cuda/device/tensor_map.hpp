// Tensor maps for the TMA. The host encodes them by a function of CUDA's driver that is looked up at run
// time, so that a program needs no driver to start.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <precast/cuda/device/swizzle.hpp>
#include <precast/cuda/device/tma_load.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>

#if PRECAST_ON_DEVICE
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::gpu {

/// A tensor in global memory, its first dimension contiguous, and the boxes that are copied from it.
struct BoxedTensor {
  std::array<std::int64_t, 4> sizes;    ///< in values
  std::array<std::int64_t, 3> strides;  ///< in values, of the dimensions after the first
  std::array<int, 4> box;               ///< in values
  Swizzle swizzle;
};

namespace detail {

/// Checks the TMA's requirements on a tensor of 16-bit values (CUDA Driver API, cuTensorMapEncodeTiled).
inline void check_boxes(const void* data, const BoxedTensor& of) {
  if (MemoryCounter::made(data)) throw Error("make_tensor_map: a dry run has no memory to make a map of");
  bool fits = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  for (const std::int64_t size : of.sizes) fits &= size >= 1 && size <= std::int64_t{1} << 32;
  for (const std::int64_t stride : of.strides)
    fits &= stride * 2 % 16 == 0 && stride * 2 < std::int64_t{1} << 40;
  for (std::size_t d = 1; d < of.strides.size(); ++d)
    fits &= of.strides[d - 1] > 0 && of.strides[d] % of.strides[d - 1] == 0;
  for (const int side : of.box) fits &= side >= 1 && side <= 256;
  const int row = of.box[0] * 2;
  fits &= row % 16 == 0 && (of.swizzle == Swizzle::none || row == swizzle_bytes(of.swizzle));
  if (!fits)
    throw Error(
        "make_tensor_map: the TMA takes tensors whose address and strides are multiples of 16 bytes, "
        "each stride a multiple of the one before, and boxes of at most 256 values along each side "
        "whose rows fill their swizzle");
}

#if PRECAST_ON_DEVICE
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  constexpr unsigned since = 12000;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, since, cudaEnableDefault, &found);
#else
  const cudaError_t status =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  check(status, "find cuTensorMapEncodeTiled in its driver");
  if (found != cudaDriverEntryPointSuccess)
    throw Error("the NVIDIA driver has no cuTensorMapEncodeTiled: install a driver for CUDA 12 or newer");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}
#endif

}  // namespace detail

/// The map of a tensor of bf16 or f16. Throws Error where the TMA does not take it.
template <ScalarDtype T>
TensorMap make_tensor_map(GlobalPointer<const T> data, const BoxedTensor& of) {
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, f16>,
                "make_tensor_map: tensors of bf16 or f16.");
#if PRECAST_ON_DEVICE
  static const auto encode = detail::tensor_map_encoder();
  detail::check_boxes(data, of);
  std::array<cuuint64_t, 4> sizes;
  std::array<cuuint64_t, 3> strides;
  std::array<cuuint32_t, 4> box;
  for (std::size_t d = 0; d < 4; ++d) sizes[d] = static_cast<cuuint64_t>(of.sizes[d]);
  for (std::size_t d = 0; d < 3; ++d) strides[d] = static_cast<cuuint64_t>(of.strides[d]) * sizeof(T);
  for (std::size_t d = 0; d < 4; ++d) box[d] = static_cast<cuuint32_t>(of.box[d]);
  constexpr std::array<cuuint32_t, 4> steps{1, 1, 1, 1};
  constexpr std::array swizzles{CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
  TensorMap map;
  const CUresult status = encode(
      &map, std::is_same_v<T, bf16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
      const_cast<T*>(data), sizes.data(), strides.data(), box.data(), steps.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzles[static_cast<std::size_t>(of.swizzle)],
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw Error("CUDA could not make the map of a tensor: cuTensorMapEncodeTiled returned " +
                std::to_string(static_cast<int>(status)));
  return map;
#else
  std::int64_t last = of.sizes[0] - 1;
  for (std::size_t d = 1; d < 4; ++d) last += (of.sizes[d] - 1) * of.strides[d - 1];
  if (data.index() < 0 || data.index() + last >= data.count())
    throw Error("make_tensor_map: the tensor exceeds its array");
  const T* first = data.base() + data.index();
  detail::check_boxes(first, of);
  TensorMap map{
      reinterpret_cast<const std::byte*>(first), sizeof(T), of.sizes, of.strides, of.box, of.swizzle};
  for (std::int64_t& stride : map.strides) stride *= static_cast<std::int64_t>(sizeof(T));
  return map;
#endif
}

}  // namespace precast::gpu
