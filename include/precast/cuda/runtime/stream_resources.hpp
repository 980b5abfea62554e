// What belongs to a stream and ends with it: workspaces and staging, made when they are first asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <typeindex>
#include <utility>

#include <precast/cuda/runtime/stream.hpp>

#if !PRECAST_CUDA_IS_EMULATED
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::cuda {

namespace detail {

class StreamResources {
 public:
  /// Not destroyed: at exit the driver may be gone before us.
  static StreamResources& instance() {
    static auto* const all = new StreamResources;
    return *all;
  }

  template <class T>
  T& get(Stream stream) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<void>& resource = resources_[{stream, current_device(), typeid(T)}];
    if (!resource) resource = std::make_shared<T>(stream);
    return *static_cast<T*>(resource.get());
  }

  void end(Stream stream) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(resources_, [&](const auto& entry) { return std::get<0>(entry.first) == stream; });
  }

 private:
  static int current_device() {
    int device = 0;
#if !PRECAST_CUDA_IS_EMULATED
    check(cudaGetDevice(&device), "find the current device");
#endif
    return device;
  }

  std::mutex mutex_;
  std::map<std::tuple<Stream, int, std::type_index>, std::shared_ptr<void>> resources_;
};

}  // namespace detail

/// The T of a stream of the current device: made as T(stream) when it is first asked for, and destroyed when
/// the stream's OwnStream ends. The default stream's stay. Any thread may ask.
template <class T>
T& resource_of(Stream stream) {
  return detail::StreamResources::instance().get<T>(stream);
}

}  // namespace precast::cuda
