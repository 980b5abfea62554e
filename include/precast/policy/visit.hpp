// visit_policy: the one step from a run-time choice to a compile-time policy, over the paths that are
// compiled in.
#pragma once

#include <cstddef>
#include <utility>

#include <boost/hana/for_each.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>

#include <precast/policy/choice.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/policy_path.hpp>

namespace precast {

namespace detail {

constexpr auto compiled_choices =
    choices_where([](const PolicyChoice& choice) { return path_compiled(choice); });

template <std::size_t... I>
boost::hana::tuple<boost::hana::type<PolicyPath<compiled_choices[I]>>...> compiled_paths(
    std::index_sequence<I...>);

}  // namespace detail

/// A Hana tuple of `hana::type<PolicyPath<...>>`: each path that this build holds. Registries, instances and
/// test matrices all come from here.
using CompiledPaths =
    decltype(detail::compiled_paths(std::make_index_sequence<detail::compiled_choices.size()>()));

/// Calls `visitor(PolicyPath<...>{})` for each compiled path.
template <class Visitor>
void for_each_path(Visitor&& visitor) {
  boost::hana::for_each(CompiledPaths{}, [&](auto path) { visitor(typename decltype(path)::type{}); });
}

/// Calls `visitor(PolicyPath<...>{})` for the path of a choice and returns what it returns; the result type
/// must be the same for all. Throws PathNotCompiled where this build lacks the path.
template <class Result, class Visitor>
Result visit_policy(const PolicyChoice& choice, Visitor&& visitor) {
  require_path(choice);
  const PolicyChoice wanted = choice.normalised();
  Result result{};
  for_each_path([&](auto path) {
    if (decltype(path)::choice == wanted) result = visitor(path);
  });
  return result;
}

}  // namespace precast
