// Place: a part of a model that is remembered, for ops of it that run while the program is elsewhere.
#pragma once

#include <utility>
#include <vector>

#include <precast/watch/scope.hpp>

namespace precast::watch {

/// Where the program is when it is made.
class Place {
 public:
  Place() : path_(active() ? detail::path : std::vector<detail::PathPart>{}) {}

 private:
  friend class ScopeAt;
  std::vector<detail::PathPart> path_;
};

/// For as long as it lives, ops are reported as if the program were at a place. Does nothing while nobody
/// observes. The names of the place's scopes must outlive it.
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
