// Place: a remembered part of a model, for ops of it that run while the program is elsewhere.
#pragma once

#include <utility>
#include <vector>

#include <precast/watch/scope.hpp>

namespace precast::watch {

/// The open scopes at the time of its construction.
class Place {
 public:
  Place() : path_(active() ? detail::path : std::vector<detail::PathPart>{}) {}

 private:
  friend class ScopeAt;
  std::vector<detail::PathPart> path_;
};

/// Reports ops as if the program were at a place, for as long as this lives. Does nothing on a thread
/// without an observer. The names of the place's scopes must outlive it.
class ScopeAt {
 public:
  explicit ScopeAt(const Place& place) : entered_(active()) {
    if (entered_) before_ = std::exchange(detail::path, place.path_);
  }
  ~ScopeAt() {
    if (entered_) detail::path = std::move(before_);
  }
  ScopeAt(const ScopeAt&) = delete;
  ScopeAt& operator=(const ScopeAt&) = delete;

 private:
  bool entered_;
  std::vector<detail::PathPart> before_;
};

}  // namespace precast::watch
