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

namespace precast {

namespace detail {

namespace hana = boost::hana;

template <Precision P>
using precision_type =
    std::conditional_t<P == Precision::f32, f32, std::conditional_t<P == Precision::bf16, bf16, f16>>;

template <bool UpcastAttention, bool UpcastMatmul>
struct UpcastFor {
  using type = Upcast<>;
};
template <>
struct UpcastFor<true, false> {
  using type = Upcast<Attention>;
};
template <>
struct UpcastFor<false, true> {
  using type = Upcast<Matmul>;
};
template <>
struct UpcastFor<true, true> {
  using type = Upcast<Attention, Matmul>;
};

template <bool UsesFlash, class StorageOption, class UpcastOption>
struct PolicyFor {
  using type = Policy<StorageOption, UpcastOption>;
};
template <class StorageOption, class UpcastOption>
struct PolicyFor<true, StorageOption, UpcastOption> {
  using type = Policy<StorageOption, UpcastOption, Flash>;
};

}  // namespace detail

/// A choice as a type, with the policy that it names: upcasts of f32, which would change nothing, are left
/// out.
template <Precision P, bool UsesFlash, bool UpcastAttention, bool UpcastMatmul>
struct PolicyPath {
  static constexpr PolicyChoice choice{P, UsesFlash, UpcastAttention, UpcastMatmul};
  using policy =
      typename detail::PolicyFor<UsesFlash, Storage<detail::precision_type<P>>,
                                 typename detail::UpcastFor<choice.normalised().upcast_attention,
                                                            choice.normalised().upcast_matmul>::type>::type;
};

namespace detail {

template <class P, class F, class A, class M>
PolicyPath<P::value, F::value, A::value, M::value> path_of(hana::tuple<P, F, A, M>);

inline constexpr auto compiled_paths_tuple() {
  constexpr auto flags = hana::tuple_c<bool, false, true>;
  constexpr auto rows = hana::cartesian_product(hana::make_tuple(
      hana::tuple_c<Precision, Precision::f32, Precision::bf16, Precision::f16>, flags, flags, flags));
  constexpr auto paths = hana::transform(rows, [](auto row) { return hana::type_c<decltype(path_of(row))>; });
  return hana::filter(paths, [](auto path) {
    constexpr PolicyChoice choice = decltype(path)::type::choice;
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
