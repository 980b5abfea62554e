// visit_policy: the one step from a run-time choice to a compile-time policy, over the paths that are
// compiled in.
#pragma once

#include <type_traits>
#include <utility>

#include <boost/hana/bool.hpp>
#include <boost/hana/cartesian_product.hpp>
#include <boost/hana/filter.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/transform.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/unpack.hpp>

#include <precast/policy/choice.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/policy_path.hpp>

namespace precast {

namespace detail {

namespace hana = boost::hana;

template <class P, class F, class A, class M>
PolicyPath<P::value, F::value, A::value, M::value> path_of(hana::tuple<P, F, A, M>);

inline constexpr auto compiled_paths_tuple() {
  constexpr auto flags = hana::tuple_c<bool, false, true>;
  constexpr auto precisions = []<std::size_t... I>(std::index_sequence<I...>) {
    return hana::tuple_c<Precision, all_precisions[I]...>;
  }
  (std::make_index_sequence<all_precisions.size()>());
  constexpr auto rows = hana::cartesian_product(hana::make_tuple(precisions, flags, flags, flags));
  constexpr auto paths =
      hana::transform(rows, []<class Row>(Row) { return hana::type_c<decltype(path_of(Row()))>; });
  return hana::filter(paths, []<class Path>(Path) {
    constexpr PolicyChoice choice = Path::type::choice;
    return hana::bool_c < path_compiled(choice) && choice == choice.normalised() > ;
  });
}

}  // namespace detail

/// A Hana tuple of `hana::type<PolicyPath<...>>`: each precision, with and without flash and each upcast,
/// that this build holds. Registries, instances and test matrices all come from here.
using CompiledPaths = decltype(detail::compiled_paths_tuple());

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
