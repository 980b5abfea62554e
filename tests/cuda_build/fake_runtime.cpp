// The functions of the CUDA runtime that runtime_rules.cu calls, and those by which nvcc's code registers
// kernels.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <cuda_build/fake_runtime.hpp>
#include <cuda_runtime_api.h>

namespace {

std::mutex mutex;
std::map<std::pair<const void*, int>, int> dynamic_bytes_allowed;
int asked_for_more = 0;
// sm_90's; the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr int without_asking = 48 << 10, of_block = 227 << 10;

template <class Handle>
Handle handle_of(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}
std::uintptr_t handles = 0x1000;
std::map<cudaStream_t, unsigned long long> numbers;  // of streams that were made
cudaStream_t last_ended = nullptr;
std::set<cudaStream_t> live_streams{nullptr, cudaStreamLegacy};
std::map<cudaGraphExec_t, cudaStream_t> live_graphs;  // and where they were recorded
std::map<cudaGraph_t, cudaStream_t> recordings;
cudaStream_t recording = nullptr;
bool records = false, is_invalid = false;
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
std::set<cudaStream_t> reading_host;  // whose copies nobody has waited for
int too_early = 0;
int with_ended_streams = 0, on_other_streams = 0, waits = 0;

/// Whether the stream is recording a graph, which a call that it does not take makes invalid.
bool refused_in_recording(cudaStream_t stream) {
  if (!records || stream != recording) return false;
  is_invalid = true;
  return true;
}

cudaError_t used(cudaStream_t stream) {
  if (live_streams.count(stream)) return cudaSuccess;
  ++with_ended_streams;
  return cudaErrorInvalidResourceHandle;
}

}  // namespace

int fake_runtime::times_asked_for_more() { return asked_for_more; }
int fake_runtime::graphs() { return static_cast<int>(live_graphs.size()); }
int fake_runtime::graphs_on_other_streams() { return on_other_streams; }
int fake_runtime::waits_of_streams() { return waits; }
int fake_runtime::freed_before_read() { return too_early; }
int fake_runtime::streams() { return static_cast<int>(live_streams.size()) - 2; }
int fake_runtime::calls_with_ended_streams() { return with_ended_streams; }

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = fake_runtime::device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!fake_runtime::starts) return cudaErrorDevicesUnavailable;
  fake_runtime::device = device;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  properties->name[0] = 'H';
  properties->major = 9;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all_bytes) {
  *free_bytes = *all_bytes = 1000;
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
  *static_cast<std::uint64_t*>(value) = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute == cudaDevAttrMemoryPoolsSupported) {
    *value = fake_runtime::has_pools;
    return cudaSuccess;
  }
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
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = fake_runtime::uses_handles_again && last_ended ? last_ended : handle_of<cudaStream_t>(++handles);
  numbers[*stream] = ++handles;
  live_streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t status = used(stream);
  live_streams.erase(stream);
  last_ended = stream;
  return status;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (refused_in_recording(stream)) return cudaErrorStreamCaptureUnsupported;
  reading_host.erase(stream);
  return used(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t, unsigned) {
  if (refused_in_recording(stream))
    return cudaErrorStreamCaptureIsolation;  // events are of other streams here
  ++waits;
  return used(stream);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = !records || stream != recording ? cudaStreamCaptureStatusNone
            : is_invalid                    ? cudaStreamCaptureStatusInvalidated
                                            : cudaStreamCaptureStatusActive;
  return used(stream);
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  if (refused_in_recording(stream)) return cudaErrorStreamCaptureUnsupported;
  const auto made = numbers.find(stream);
  *id = made != numbers.end() ? made->second : static_cast<unsigned long long>(1 + fake_runtime::device);
  return used(stream);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  recording = stream;
  records = true;
  is_invalid = false;
  return used(stream);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  records = false;
  *graph = nullptr;
  if (is_invalid) return cudaErrorStreamCaptureInvalidated;
  *graph = handle_of<cudaGraph_t>(++handles);
  recordings[*graph] = recording;
  return used(stream);
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = handle_of<cudaGraphExec_t>(++handles);
  live_graphs[*executable] = recordings.at(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  on_other_streams += live_graphs.at(executable) != stream;
  return used(stream);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  live_graphs.erase(executable);
  return cudaSuccess;
}
cudaError_t cudaDeviceGraphMemTrim(int) { return cudaSuccess; }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t stream) { return used(stream); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) {
  // By the rules of a recording in another thread, or in this one.
  if (capture_mode != cudaStreamCaptureModeRelaxed) is_invalid = true;
  return fake_runtime::work_is_over ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "an error"; }
const char* cudaGetErrorString(cudaError_t) { return "of the runtime that stands in for CUDA's"; }
cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  if (records) return cudaErrorStreamCaptureUnsupported;
  *block = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* block) {
  std::free(block);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** block, std::size_t bytes) {
  *block = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* block) {
  too_early += !reading_host.empty();
  std::free(block);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t stream) {
  reading_host.insert(stream);
  return used(stream);
}
cudaError_t cudaMallocAsync(void** block, std::size_t bytes, cudaStream_t stream) {
  *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return used(stream);
}
cudaError_t cudaFreeAsync(void* block, cudaStream_t stream) {
  std::free(block);
  return used(stream);
}

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
