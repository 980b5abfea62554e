// What belongs to a stream and ends with it: workspaces and staging, made when they are first asked for.
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
  /// All that a stream has.
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

/// Gives back what a program's own stream has beside tensors: 32 MiB in which libraries work, and 8 MiB of
/// pinned memory for uploads. When its work is over, and before cudaStreamDestroy: without it they stay for a
/// later stream of the same handle. The end of an OwnStream does so.
inline void release_resources_of(Stream stream) noexcept { detail::StreamResources::instance().end(stream); }

/// The T of a stream of the current device: made as T(stream) when it is first asked for, and let go of when
/// the stream's OwnStream ends, or by release_resources_of. The default stream's stay. Any thread may ask,
/// and uses it for as long as it holds it.
template <class T>
std::shared_ptr<T> resource_of(Stream stream) {
  return detail::StreamResources::instance().get<T>(stream);
}

}  // namespace precast::gpu
