// Code that oneDNN generates: by one thread at a time, also across a fork, and cached by key.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <pthread.h>

#include <precast/memory/made_once.hpp>
#include <precast/memory/memory.hpp>

namespace precast::host::onednn {

/// Held while oneDNN makes code or this process looks for what was made, by one thread at a time. A fork
/// waits for it, so that the child finds caches whole and open, and oneDNN's own locks too. It is
/// recursive.
class MakingCode {
 public:
  MakingCode() : first_(!std::exchange(held(), true)) {
    if (first_) mutex().lock();
  }
  ~MakingCode() {
    if (!first_) return;
    mutex().unlock();
    held() = false;
  }
  MakingCode(const MakingCode&) = delete;
  MakingCode& operator=(const MakingCode&) = delete;

 private:
  static std::mutex& mutex() {
    const auto make = [] {
      // What a fork does first was registered last: who makes code may take memory, and not the other way.
      precast::detail::MemoryPool::instance();
      ::pthread_atfork(before_fork, after_fork, after_fork);
      return std::make_unique<std::mutex>();
    };
    return precast::detail::made_once(made_, make, [] {});
  }
  // Both may be registered twice, and the mutex may be made between them.
  static void before_fork() {
    std::mutex* const mutex = made_.load();
    if (!mutex || held_by_fork()) return;
    mutex->lock();
    held_by_fork() = mutex;
  }
  static void after_fork() {
    if (std::mutex* const mutex = std::exchange(held_by_fork(), nullptr)) mutex->unlock();
  }
  static std::mutex*& held_by_fork() {
    static thread_local std::mutex* held = nullptr;
    return held;
  }
  static bool& held() {
    static thread_local bool held = false;
    return held;
  }

  static inline std::atomic<std::mutex*> made_{nullptr};

  bool first_;
};

/// An LRU cache of the `most` objects used last, by key. Callers hold MakingCode, also for the creation of
/// the cache; a returned object stays valid for as long as it is held. A static one is not destroyed
/// (`new`): ops may still run when the program ends.
template <class Key, class Value>
class Cache {
 public:
  explicit Cache(std::size_t most) : most_(most) {}

  template <class Make>
  std::shared_ptr<const Value> find_or_make(const MakingCode&, const Key& key, Make&& make) {
    if (const auto found = places_.find(key); found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->second;
    }
    auto made = std::make_shared<const Value>(make());
    entries_.emplace_front(key, made);
    places_[key] = entries_.begin();
    if (entries_.size() > most_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return made;
  }

 private:
  using Entries = std::list<std::pair<Key, std::shared_ptr<const Value>>>;
  std::size_t most_;
  Entries entries_;
  std::map<Key, typename Entries::iterator> places_;
};

}  // namespace precast::host::onednn
