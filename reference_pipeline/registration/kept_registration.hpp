// KeptRegistration: registers a program's additions before main, where no error could be caught.
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
/// The failures of live registrations, in the order in which they failed.
inline std::vector<Failure>& failures() {
  static std::vector<Failure> all;
  return all;
}

}  // namespace detail

/// Throws Error with the message of the first live registration that has failed, if any.
inline void throw_failure() {
  if (!detail::failures().empty()) throw Error(detail::failures().front().problem);
}

/// Holds an Added, which adds something for as long as it lives. If its constructor throws Error, it holds
/// none, and throw_failure(), which every command of the program calls first, throws that error.
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
