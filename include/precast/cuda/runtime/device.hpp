// The device to work on, or why there is none.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/check.hpp>
#include <precast/error.hpp>

namespace precast::gpu {

/// A device that kernels can run on.
struct Device {
  int number = 0;
  std::string name;
  int capability = 0;                        ///< 10 major + minor: 90 for sm_90
  std::int64_t memory = 0, free_memory = 0;  ///< bytes
};

/// The result of find_device: a device, or one line that says why there is none.
struct FoundDevice {
  std::optional<Device> device;
  std::string reason;
};

/// Asks whether this program's kernels run on the current device: cudaSuccess, or the error (probe_code of
/// code_probe.hpp).
using CodeProbe = cudaError_t (*)();

/// The least compute capability that the kernels are written for.
inline constexpr int least_capability = 80;

namespace detail {

/// Bytes that the default pool of a device has reserved and that no allocation uses; 0 on an error.
inline std::uint64_t kept_by_pool(int number) {
  cudaMemPool_t pool{};
  std::uint64_t reserved = 0, used = 0;
  if (cudaDeviceGetDefaultMemPool(&pool, number) != cudaSuccess ||
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved) != cudaSuccess ||
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess)
    return 0;
  return reserved - used;
}

/// Properties that CUDA reports for a thread's current device only.
struct AnswersOfDevice {
  cudaError_t start = cudaSuccess;  ///< of making it the current device
  cudaError_t code = cudaSuccess;   ///< of running this program's kernels there
  std::uint64_t free_memory = 0;    ///< bytes that this process can allocate; 0 if the query fails
};

/// Asks in a thread of its own, which leaves the caller's current device as it is.
inline AnswersOfDevice ask_device(int number, CodeProbe probe) {
  AnswersOfDevice answers;
  std::thread([&] {
    answers.start = cudaSetDevice(number);
    if (answers.start != cudaSuccess) return;
    if (probe) answers.code = probe();
    (void)cudaDeviceGraphMemTrim(number);  // returns unused memory of graphs to the system
    std::size_t free_bytes = 0, all_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
      answers.free_memory = free_bytes + kept_by_pool(number);
    (void)cudaGetLastError();
  }).join();
  return answers;
}

}  // namespace detail

/// The number of devices that CUDA counts, including those that kernels cannot run on; 0 without a driver.
inline int count_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

/// Looks for device `number`. Returns a reason instead of throwing where there is no driver or no such
/// device, or where the device is too old, has no memory pools, does not start (as one in another process's
/// exclusive use), or is one that this program was not compiled for, as `probe` says.
inline FoundDevice find_device(int number = 0, CodeProbe probe = nullptr) {
  int count = 0;
  // Without a driver the count is undefined: only the status can be trusted.
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    (void)cudaGetLastError();
    // Without a driver, CUDA reports one that is too old; its version is 0 then.
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
      return {std::nullopt, "this machine has no NVIDIA driver"};
    return {std::nullopt, std::string("CUDA found no device: ") + cudaGetErrorString(status)};
  }
  if (number < 0 || number >= count)
    return {std::nullopt, "there is no CUDA device " + std::to_string(number) + ": this machine has " +
                              std::to_string(count) + ", numbered from 0"};
  cudaDeviceProp properties;
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, number); status != cudaSuccess) {
    (void)cudaGetLastError();
    return {std::nullopt,
            "CUDA device " + std::to_string(number) + " does not answer: " + cudaGetErrorString(status)};
  }
  Device device{number, properties.name, 10 * properties.major + properties.minor,
                static_cast<std::int64_t>(properties.totalGlobalMem), 0};
  const std::string described = "CUDA device " + std::to_string(number) + " (" + device.name + ")";
  if (device.capability < least_capability)
    return {std::nullopt, described + " has compute capability " + std::to_string(properties.major) + "." +
                              std::to_string(properties.minor) + ": Precast's kernels need 8.0 or newer"};
  int has_pools = 1;
  if (cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, number) == cudaSuccess &&
      !has_pools)
    return {std::nullopt,
            described + " has no memory pools (cudaMallocAsync), from which tensors are allocated"};
  const detail::AnswersOfDevice answers = detail::ask_device(number, probe);
  if (answers.start != cudaSuccess)
    return {std::nullopt, described + " does not start: " + cudaGetErrorString(answers.start)};
  if (answers.code != cudaSuccess)
    return {std::nullopt,
            described + " does not run the kernels of this program (" + cudaGetErrorString(answers.code) +
                "): build it with -DPRECAST_CUDA_ARCHITECTURES=" + std::to_string(device.capability)};
  device.free_memory = static_cast<std::int64_t>(answers.free_memory);
  return {device, {}};
}

/// Makes `device` the current one of this thread, and has its pool keep freed memory for later allocations:
/// by default all of it returns to the system whenever a stream is synchronised. Throws Error.
inline void use_device(const Device& device) {
  check(cudaSetDevice(device.number), "use device " + std::to_string(device.number));
  cudaMemPool_t pool{};
  check(cudaDeviceGetDefaultMemPool(&pool, device.number), "get its memory pool");
  auto everything = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything),
        "keep memory in its pool");
}

}  // namespace precast::gpu
