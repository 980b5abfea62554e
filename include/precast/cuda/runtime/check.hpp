// The one place where return codes of the CUDA runtime become exceptions.
#pragma once

#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include <precast/error.hpp>

namespace precast::gpu {

/// Throws Error or OutOfMemory for any status but cudaSuccess. `doing` completes "CUDA could not ...".
inline void check(cudaError_t status, std::string_view doing) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // an error that is not sticky must not surface in a later call
  const std::string what(doing);
  const std::string reason = std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation)
    throw OutOfMemory("CUDA could not " + what + " (" + reason +
                      "): use smaller sizes, or a policy of narrower dtypes");
  throw Error("CUDA could not " + what + " (" + reason + ")");
}

}  // namespace precast::gpu
