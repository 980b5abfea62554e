// Held: shared ownership of an object; and a counter for threads. They do what std::shared_ptr and
// std::atomic do, without <memory> and <atomic>, which take a compiler longer than all else that a small
// device op includes.
#pragma once

#include <cstdint>
#include <utility>

namespace precast {

/// A counter that any thread may change.
class SharedCount {
 public:
  /// Adds, and returns the sum.
  std::int64_t add(std::int64_t change) { return __atomic_add_fetch(&value_, change, __ATOMIC_ACQ_REL); }
  /// Raises the value to `least` where it is below.
  void raise_to(std::int64_t least) {
    std::int64_t now = value();
    while (now < least &&
           !__atomic_compare_exchange_n(&value_, &now, least, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
  }
  void set(std::int64_t value) { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }
  std::int64_t value() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

 private:
  std::int64_t value_ = 0;
};

/// The base class of objects that a Held owns.
class Holdable {
 public:
  Holdable() = default;
  Holdable(const Holdable&) = delete;
  Holdable& operator=(const Holdable&) = delete;
  virtual ~Holdable() = default;

 private:
  template <class T>
  friend class Held;
  mutable SharedCount holders_;
};

/// A shared owner of an object, or empty. The last owner destroys the object.
template <class T>
class Held {
 public:
  Held() = default;
  /// Takes ownership of an object made by `new`.
  explicit Held(T* object) : object_(object) { hold(); }
  Held(const Held& other) : object_(other.object_) { hold(); }
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  /// Shares an object of a class derived from T.
  template <class Derived>
  Held(const Held<Derived>& other) : Held(other.get()) {}  // NOLINT(google-explicit-constructor)
  Held& operator=(Held other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() { reset(); }

  void reset() noexcept {
    T* const object = std::exchange(object_, nullptr);
    if (object && object->holders_.add(-1) == 0) delete object;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  void hold() {
    if (object_) object_->holders_.add(1);
  }

  T* object_ = nullptr;
};

}  // namespace precast
