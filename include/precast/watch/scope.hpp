// Scope: where in a model the program is, so that an observed op knows its path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <precast/watch/observer.hpp>

namespace precast::watch {

namespace detail {
struct PathPart {
  std::string_view name;
  std::int64_t index;
};
inline thread_local std::vector<PathPart> path;
}  // namespace detail

/// Names a part of a model for as long as it lives: `Scope block("transformer_blocks", 3)` adds
/// "transformer_blocks.3" to the path. Does nothing while nobody observes. The name must outlive the scope.
class Scope {
 public:
  explicit Scope(std::string_view name, std::int64_t index = -1) : entered_(active()) {
    if (entered_) detail::path.push_back({name, index});
  }
  ~Scope() {
    if (entered_) detail::path.pop_back();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  bool entered_;
};

/// The names of the scopes that are open, joined with dots.
inline std::string current_path() {
  std::string text;
  for (const auto& part : detail::path) {
    if (!text.empty()) text += '.';
    text += part.name;
    if (part.index >= 0) text += '.' + std::to_string(part.index);
  }
  return text;
}

/// Runs `body` under a name, and returns what it returns.
template <class Body>
auto scoped(std::string_view name, Body&& body) {
  const Scope scope(name);
  return body();
}

}  // namespace precast::watch
