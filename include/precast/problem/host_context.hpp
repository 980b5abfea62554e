// Context: the host's counterpart of cuda/runtime/context.hpp, so that a program's text is the same for both
// backends.
#pragma once

#include <utility>

namespace precast::host {

/// Where ops run: on the threads of this process, in its memory. There is nothing to choose.
struct Context {};

inline Context current_context() { return {}; }

/// Does nothing: the host has one context.
struct ContextScope {
  explicit ContextScope(const Context&) {}
};

/// Returns `ops()`.
template <class Ops>
decltype(auto) with_context(const Context&, Ops&& ops) {
  return std::forward<Ops>(ops)();
}

}  // namespace precast::host
