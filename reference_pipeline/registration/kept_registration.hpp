// KeptRegistration: what a program adds before main, where nobody could catch an error.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <precast/error.hpp>

namespace precast::registration {

namespace detail {

struct Failure {
  const void* of;
  std::string problem;
};
/// Those of registrations that live, in the order in which they failed.
inline std::vector<Failure>& failures() {
  static std::vector<Failure> all;
  return all;
}

}  // namespace detail

/// Throws Error where a registration has failed and still lives: what the first one says.
inline void throw_failure() {
  if (!detail::failures().empty()) throw Error(detail::failures().front().problem);
}

/// Holds an Added, which adds something for as long as it lives. Where making it throws Error there is none,
/// and throw_failure() throws the error: every command of the program begins with it.
template <class Added>
class KeptRegistration {
 public:
  template <class... Given>
  explicit KeptRegistration(Given&&... given) {
    try {
      added_.emplace(std::forward<Given>(given)...);
    } catch (const Error& error) {
      detail::failures().push_back({this, error.what()});
    }
  }
  ~KeptRegistration() {
    if (!added_)
      std::erase_if(detail::failures(),
                    [this](const detail::Failure& failure) { return failure.of == this; });
  }
  KeptRegistration(const KeptRegistration&) = delete;
  KeptRegistration& operator=(const KeptRegistration&) = delete;

 private:
  std::optional<Added> added_;
};

}  // namespace precast::registration
