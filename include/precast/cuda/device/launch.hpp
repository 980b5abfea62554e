// Starting a kernel: on a stream of the device, or in the emulator.
#pragma once

#include <cstddef>
#include <string>

#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/error.hpp>
#include <precast/tensor/dry_run.hpp>

#if PRECAST_ON_DEVICE
#include <precast/cuda/runtime/check.hpp>
#else
#include <simt/device_memory.hpp>
#endif

namespace precast::cuda {

/// How many blocks of how many threads, and their dynamic shared memory.
struct LaunchShape {
  GridIndex blocks;
  int threads = 0;
  std::size_t shared_bytes = 0;

  /// Whether there is nothing to start.
  bool empty() const { return blocks.x == 0 || blocks.y == 0 || blocks.z == 0; }
};

#if PRECAST_ON_DEVICE
/// Starts `kernel` on a stream and returns at once. `name` is what errors call it.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
            const Arguments&... arguments) {
  if (shape.empty() || DryRun::active()) return;
  constexpr std::size_t without_asking = 48 << 10;
  const std::string doing = std::string("start the kernel ") + name;
  if (shape.shared_bytes > without_asking)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared_bytes)),
          doing);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks.x), static_cast<unsigned>(shape.blocks.y),
                        static_cast<unsigned>(shape.blocks.z));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), doing);
}
#else
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Stream,
            const Arguments&... arguments) {
  if (shape.empty() || DryRun::active()) return;
  const simt::Grid grid{{shape.blocks.x, shape.blocks.y, shape.blocks.z}, shape.threads, shape.shared_bytes};
  const simt::DeviceAccess access;
  simt::launch(name, grid, [&] { kernel(Parameters(arguments)...); });
}
#endif

}  // namespace precast::cuda
