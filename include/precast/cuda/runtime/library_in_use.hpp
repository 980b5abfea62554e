// The library of each kind that this process uses: the one that was found, or a test's replacement.
#pragma once

#include <type_traits>
#include <utility>

namespace precast::gpu {

namespace detail {
template <class Library>
Library& library_of_process() {
  static Library library = default_library(std::type_identity<Library>{});
  return library;
}
}  // namespace detail

/// The process's library of a kind; by default `default_library(std::type_identity<Library>)`.
template <class Library>
const Library& library_in_use() {
  return detail::library_of_process<Library>();
}

/// Replaces the library in use while it lives. Not to be made while other threads use the library.
template <class Library>
class LibraryScope {
 public:
  explicit LibraryScope(Library library)
      : before_(std::exchange(detail::library_of_process<Library>(), std::move(library))) {}
  ~LibraryScope() { detail::library_of_process<Library>() = std::move(before_); }
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;

 private:
  Library before_;
};

}  // namespace precast::gpu
