// Resources that belong to a stream and end with it: workspaces and staging, made at their first use.
#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <typeindex>
#include <utility>
#include <vector>

#include <precast/cuda/runtime/stream_type.hpp>

namespace precast::gpu {

namespace detail {

class StreamResources {
 public:
  /// Not destroyed: at exit the driver may be gone before us.
  static StreamResources& instance() {
    static auto* const all = new StreamResources;
    return *all;
  }

  template <class T>
  std::shared_ptr<T> get(Stream stream) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<void>& resource = resources_[{stream, current_device(), typeid(T)}];
    if (!resource) resource = std::make_shared<T>(stream);
    return std::static_pointer_cast<T>(resource);
  }
  /// All resources of a stream.
  std::vector<std::shared_ptr<void>> all_of(Stream stream) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<void>> all;
    for (const auto& [key, resource] : resources_)
      if (std::get<0>(key) == stream) all.push_back(resource);
    return all;
  }

  void end(Stream stream) noexcept {
    std::map<Key, std::shared_ptr<void>>
        ended;  // destroyed without the lock: they may hold memory of streams
    const std::lock_guard lock(mutex_);
    for (auto at = resources_.begin(); at != resources_.end();)
      if (auto next = std::next(at); std::get<0>(at->first) == stream) {
        ended.insert(resources_.extract(at));
        at = next;
      } else {
        at = next;
      }
  }

 private:
  using Key = std::tuple<Stream, int, std::type_index>;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<void>> resources_;
};

}  // namespace detail

/// Releases what a program's own stream holds besides tensors: 32 MiB of workspace for libraries, and 8 MiB
/// of pinned memory for uploads. Call it when the stream's work is over, and before cudaStreamDestroy:
/// otherwise they stay for a later stream of the same handle. The end of an OwnStream calls it.
inline void release_resources_of(Stream stream) noexcept { detail::StreamResources::instance().end(stream); }

/// The T of a stream on the current device: made as T(stream) at the first call, and released when the
/// stream's OwnStream ends, or by release_resources_of. Those of the default stream stay. Any thread may
/// call, and may use the T for as long as it holds the pointer.
template <class T>
std::shared_ptr<T> resource_of(Stream stream) {
  return detail::StreamResources::instance().get<T>(stream);
}

}  // namespace precast::gpu
