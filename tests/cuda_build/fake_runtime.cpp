// The functions of the CUDA runtime that runtime_rules.cu calls, and those by which nvcc's code registers
// kernels.
#include <map>
#include <mutex>
#include <utility>

#include <cuda_build/fake_runtime.hpp>
#include <cuda_runtime_api.h>

namespace {

std::mutex mutex;
std::map<std::pair<const void*, int>, int> dynamic_bytes_allowed;
int asked_for_more = 0;
// sm_90's; the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr int without_asking = 48 << 10, of_block = 227 << 10;

}  // namespace

int fake_runtime::times_asked_for_more() { return asked_for_more; }

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = fake_runtime::device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin) return cudaErrorNotSupported;
  *value = of_block;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->sharedSizeBytes = fake_runtime::static_bytes;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const std::lock_guard lock(mutex);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorNotSupported;
  if (value < 0 || static_cast<std::size_t>(value) + fake_runtime::static_bytes > of_block)
    return cudaErrorInvalidValue;
  ++asked_for_more;
  dynamic_bytes_allowed[{kernel, fake_runtime::device}] = value;
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void**) {
  const std::lock_guard lock(mutex);
  const auto given = dynamic_bytes_allowed.find({kernel, fake_runtime::device});
  const std::size_t allowed = given != dynamic_bytes_allowed.end()
                                  ? static_cast<std::size_t>(given->second)
                                  : without_asking - fake_runtime::static_bytes;
  return config->dynamicSmemBytes <= allowed ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "an error"; }
const char* cudaGetErrorString(cudaError_t) { return "of the runtime that stands in for CUDA's"; }
cudaError_t cudaMallocAsync(void**, std::size_t, cudaStream_t) { return cudaErrorMemoryAllocation; }
cudaError_t cudaFreeAsync(void*, cudaStream_t) { return cudaErrorInvalidValue; }

// By these nvcc's code registers kernels before main, and starts one that is called with <<<>>>, as none is
// here.
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
cudaError_t __cudaGetKernel(void*, const void*) { return cudaErrorNotSupported; }
cudaError_t __cudaPopCallConfiguration(void*, void*, std::size_t*, void*) { return cudaErrorNotSupported; }
cudaError_t __cudaLaunchKernel(void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}

}  // extern "C"
