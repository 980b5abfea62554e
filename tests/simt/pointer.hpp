// Pointers that know their array: an access outside it, or at an address that is not aligned, is an error.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace simt {

enum class Space { global, shared };

/// What an error says of an access: `index` values of `size` bytes behind the array's first, `count` of which
/// exist.
struct Access {
  Space space;
  const char* array;  ///< its name, or null
  std::int64_t index;
  std::int64_t values;  ///< how many are accessed
  std::int64_t count;
  std::size_t size;
  const void* address;
};

namespace detail {
/// Whether the running block uses the asynchronous proxy, which does not see a thread's own writes before a
/// fence.
extern thread_local constinit bool notes_writes;
void note_write(const void* address, std::size_t bytes);

/// What this thread's running kernel has touched of the device's memory, by lines of 256 bytes: the last one
/// of each remainder, with a 1 below it where it was written. A block of memory begins with a line.
inline constexpr int line_bits = 8;
extern thread_local constinit std::uintptr_t touched_lines[1024];
void note_touch(const void* address, std::size_t bytes, bool writes);
/// The kernel's threads share it, and it is none of their memory: ThreadSanitizer is not to look.
__attribute__((no_sanitize("thread"))) inline void touch(const void* address, std::size_t bytes,
                                                         bool writes) {
  const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(address) >> line_bits;
  const std::uintptr_t known = touched_lines[line % std::size(touched_lines)];
  if (known != (line << 1 | 1) && (writes || known != line << 1)) [[unlikely]]
    note_touch(address, bytes, writes);
}
}  // namespace detail

[[noreturn]] void fail_out_of_bounds(const Access& access);
[[noreturn]] void fail_misaligned(const Access& access, std::size_t alignment);

/// A position in an array of T. The position may lie anywhere; what is accessed must lie inside.
template <class T, Space S>
class Pointer {
 public:
  using value_type = std::remove_const_t<T>;

  Pointer() = default;
  Pointer(std::nullptr_t) {}
  /// The first of `count` values; errors call the array `name`.
  Pointer(T* base, std::int64_t count, const char* name = nullptr)
      : base_(base), count_(count), name_(name) {}
  template <class Other>
    requires(std::is_same_v<const Other, T>)
  Pointer(const Pointer<Other, S>& other)
      : base_(other.base()), index_(other.index()), count_(other.count()), name_(other.name()) {}

  T& operator*() const { return at(index_); }
  T& operator[](std::int64_t i) const { return at(index_ + i); }
  T* operator->() const { return &at(index_); }
  explicit operator bool() const { return base_ != nullptr; }

  Pointer& operator+=(std::int64_t n) { return index_ += n, *this; }
  Pointer& operator-=(std::int64_t n) { return index_ -= n, *this; }
  Pointer& operator++() { return *this += 1; }
  Pointer& operator--() { return *this -= 1; }
  Pointer operator++(int) {
    const Pointer before = *this;
    ++index_;
    return before;
  }
  friend Pointer operator+(Pointer p, std::int64_t n) { return p += n; }
  friend Pointer operator+(std::int64_t n, Pointer p) { return p += n; }
  friend Pointer operator-(Pointer p, std::int64_t n) { return p -= n; }
  friend std::ptrdiff_t operator-(const Pointer& a, const Pointer& b) { return a.address() - b.address(); }
  friend bool operator==(const Pointer& a, const Pointer& b) { return a.address() == b.address(); }
  friend auto operator<=>(const Pointer& a, const Pointer& b) { return a.address() <=> b.address(); }

  /// The values from here on as one Vector, read or written at once.
  template <class Vector>
  Vector load_as() const {
    Vector vector;
    std::memcpy(static_cast<void*>(&vector), checked<Vector>(), sizeof(Vector));
    return vector;
  }
  template <class Vector>
  void store_as(const Vector& vector) const {
    std::memcpy(static_cast<void*>(checked<Vector>()), &vector, sizeof(Vector));
  }

  /// The address of the next `bytes` bytes, which must be all inside and on a multiple of `alignment`.
  T* checked_bytes(std::int64_t bytes, std::size_t alignment) const {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t values = (bytes + size - 1) / size;
    if (index_ < 0 || index_ + values > count_) fail_out_of_bounds(access(index_, values));
    if (reinterpret_cast<std::uintptr_t>(address()) % alignment != 0)
      fail_misaligned(access(index_, values), alignment);
    note(address(), static_cast<std::size_t>(bytes));
    return address();
  }

  T* base() const { return base_; }
  std::int64_t index() const { return index_; }
  std::int64_t count() const { return count_; }
  const char* name() const { return name_; }

 private:
  // By integers: the position may lie outside of the array, where arithmetic on C++ pointers is undefined.
  T* address() const {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(base_) +
                                static_cast<std::uintptr_t>(index_) * sizeof(T));
  }
  T& at(std::int64_t i) const {
    if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(count_)) [[unlikely]]
      fail_out_of_bounds(access(i, 1));
    note(base_ + i, sizeof(T));
    return base_[i];
  }
  /// Through a pointer to what is not const, every access may be a write.
  static void note(const void* at, std::size_t bytes) {
    if constexpr (S == Space::global)
      detail::touch(at, bytes, !std::is_const_v<T>);
    else if constexpr (!std::is_const_v<T>)
      if (detail::notes_writes) [[unlikely]]
        detail::note_write(at, bytes);
  }
  template <class Vector>
  T* checked() const {
    static_assert(sizeof(Vector) % sizeof(T) == 0 && std::is_trivially_copyable_v<Vector>);
    return checked_bytes(sizeof(Vector), sizeof(Vector));
  }
  Access access(std::int64_t index, std::int64_t values) const {
    return {S, name_, index, values, count_, sizeof(T), address()};
  }

  T* base_ = nullptr;
  std::int64_t index_ = 0;
  std::int64_t count_ = 0;
  const char* name_ = nullptr;
};

/// Adds for all threads of the grid; returns what was there.
template <class T, Space S>
T atomic_add(Pointer<T, S> at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).fetch_add(value, std::memory_order_relaxed);
}
template <class T, Space S>
T atomic_max(Pointer<T, S> at, std::type_identity_t<T> value) {
  std::atomic_ref<T> target(*at);
  T before = target.load(std::memory_order_relaxed);
  while (before < value && !target.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
  return before;
}

}  // namespace simt
