// Starting a kernel: on a stream of the device, or in the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/runtime/stream_type.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>

#if PRECAST_ON_DEVICE
#include <precast/cuda/runtime/check.hpp>
#else
#include <simt/stream.hpp>
#endif

namespace precast::gpu {

/// `blocks` as one dimension of a grid. Throws ShapeError above 2^31 - 1, the limit of CUDA's grids.
inline int grid_blocks(std::int64_t blocks) {
  if (blocks > std::numeric_limits<int>::max())
    throw ShapeError("this launch takes " + std::to_string(blocks) +
                     " blocks of threads, and a CUDA grid has " +
                     std::to_string(std::numeric_limits<int>::max()) + " at most: split it");
  return static_cast<int>(blocks);
}

/// How many blocks of how many threads, and their dynamic shared memory.
struct LaunchShape {
  GridIndex blocks;
  int threads = 0;
  std::size_t shared_bytes = 0;

  /// Whether there is nothing to start.
  bool empty() const { return blocks.x == 0 || blocks.y == 0 || blocks.z == 0; }
};

#if PRECAST_ON_DEVICE
namespace detail {

/// Lets a kernel have `bytes` of dynamic shared memory on the current device. Up to 48 KiB less its static
/// arrays needs no attribute; beyond, the kernel's maximum is set to all that the device gives a block: the
/// same value by every thread, so that none lowers what another has set.
inline cudaError_t allow_shared_memory(const void* kernel, std::size_t bytes) {
  constexpr std::size_t without_asking = 48 << 10;
  if (bytes == 0) return cudaSuccess;
  struct Allowed {
    const void* kernel = nullptr;
    int device = 0;
    std::size_t bytes = 0;
  };
  constexpr std::size_t remembered = 64;  // per thread; two kernels of one entry evict each other
  thread_local Allowed all[remembered];
  int device = 0;
  if (const cudaError_t status = cudaGetDevice(&device); status != cudaSuccess) return status;
  Allowed& one = all[reinterpret_cast<std::uintptr_t>(kernel) / 16 % remembered];
  if (one.kernel == kernel && one.device == device && bytes <= one.bytes) return cudaSuccess;
  cudaFuncAttributes attributes;
  if (const cudaError_t status = cudaFuncGetAttributes(&attributes, kernel); status != cudaSuccess)
    return status;
  std::size_t allowed = without_asking - attributes.sharedSizeBytes;
  if (bytes > allowed) {
    int of_block = 0;
    if (const cudaError_t status =
            cudaDeviceGetAttribute(&of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        status != cudaSuccess)
      return status;
    allowed = static_cast<std::size_t>(of_block) - attributes.sharedSizeBytes;
    if (const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                        static_cast<int>(allowed));
        status != cudaSuccess)
      return status;
  }
  one = {kernel, device, allowed};
  return cudaSuccess;
}

inline void check_launch(cudaError_t status, const char* name) {
  if (status != cudaSuccess) check(status, std::string("start the kernel ") + name);
}

}  // namespace detail

/// Starts `kernel` on a stream and returns at once. `name` is what errors call it.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
            const Arguments&... arguments) {
  if (shape.empty() || MemoryCounter::active()) return;
  detail::check_launch(detail::allow_shared_memory(reinterpret_cast<const void*>(kernel), shape.shared_bytes),
                       name);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks.x), static_cast<unsigned>(shape.blocks.y),
                        static_cast<unsigned>(shape.blocks.z));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  detail::check_launch(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
}
#else
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
            const Arguments&... arguments) {
  if (shape.empty() || MemoryCounter::active()) return;
  const simt::Grid grid{{shape.blocks.x, shape.blocks.y, shape.blocks.z}, shape.threads, shape.shared_bytes};
  const simt::StreamWork work(name, stream);
  simt::launch(name, grid, [&] { kernel(Parameters(arguments)...); });
}
#endif

}  // namespace precast::gpu
