// The instances of a kernel that a unit stamps: one for each distinct row of the op table that the compiled
// paths have for its op class, and the same in f32 for the watch hook. Dtypes come from precisions<P, Op>
// alone. The macro PRECAST_STAMPED_PRECISION, "bf16", limits a unit to the paths that store parameters in
// this precision, and to the training policies that have it between ops: units take about equally long to
// compile, and no two stamp one kernel.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include <boost/hana/append.hpp>
#include <boost/hana/contains.hpp>
#include <boost/hana/fold_left.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/unpack.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/policy/visit.hpp>
#include <precast/problem/context.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::kernels {

/// The policies that a family of kernels is stamped for.
struct EveryPolicy {
  template <PolicyType P>
  static constexpr bool holds = true;
};
struct WithFlash {
  template <PolicyType P>
  static constexpr bool holds = P::flash;
};
struct WithoutFlash {
  template <PolicyType P>
  static constexpr bool holds = !P::flash;
};
/// For kernels that only the watch hook calls.
struct WhereWatched {
  template <PolicyType P>
  static constexpr bool holds = watch::compiled;
};

namespace detail {

namespace hana = boost::hana;

#ifdef PRECAST_STAMPED_PRECISION
static_assert(precision_named(PRECAST_STAMPED_PRECISION),
              "PRECAST_STAMPED_PRECISION is no precision of PathDtypes.");
template <Dtype T>
inline constexpr bool is_of_this_unit = dtype_traits<T>::name == std::string_view(PRECAST_STAMPED_PRECISION);
#else
template <Dtype T>
inline constexpr bool is_of_this_unit = true;
#endif

/// A tuple of types with one more, unless it is there already.
template <class Types, class T>
constexpr auto with_type(Types types, T) {
  if constexpr (decltype(hana::contains(types, T{}))::value)
    return types;
  else
    return hana::append(types, T{});
}

/// The distinct rows of op classes under the policies of this unit.
template <class Policies, OpClass... Ops>
constexpr auto rows_of_unit() {
  return hana::fold_left(CompiledPaths{}, hana::make_tuple(), []<class Rows, class Path>(Rows rows, Path) {
    using P = typename Path::type::policy;
    if constexpr (is_of_this_unit<typename P::storage> && Policies::template holds<P>)
      return hana::fold_left(hana::make_tuple(hana::type_c<precisions<P, Ops>>...), rows,
                             []<class All, class Row>(All all, Row row) { return with_type(all, row); });
    else
      return rows;
  });
}

}  // namespace detail

/// The addresses of `Kernels<Row, Types>::functions` for every row of the op classes `Ops`, where Types is
/// the row itself and, for the watch hook, `widened_to_f32<Row>`. A constant that holds them makes the
/// compiler stamp the kernels:
///
///   [[gnu::used, maybe_unused]] constexpr auto stamped_norm = kernels::addresses<NormKernels,
///   kernels::EveryPolicy, Norm>();
template <template <class Row, class Types> class Kernels, class Policies, OpClass... Ops>
constexpr auto addresses() {
  return boost::hana::unpack(detail::rows_of_unit<Policies, Ops...>(), []<class... Rows>(Rows...) {
    if constexpr (watch::compiled)
      return std::tuple(Kernels<typename Rows::type, typename Rows::type>::functions...,
                        Kernels<typename Rows::type, widened_to_f32<typename Rows::type>>::functions...);
    else
      return std::tuple(Kernels<typename Rows::type, typename Rows::type>::functions...);
  });
}

/// Whether a unit of these policies stamps a kernel of the op classes `Ops` in the dtypes `Types` for an
/// input of ops' results `In`.
template <class Types, class In, class Policies, OpClass... Ops>
inline constexpr bool is_stamped =
    boost::hana::unpack(detail::rows_of_unit<Policies, Ops...>(), []<class... Rows>(Rows...) {
      return (((std::is_same_v<Types, typename Rows::type> ||
                (watch::compiled && std::is_same_v<Types, widened_to_f32<typename Rows::type>>)) &&
               std::is_same_v<In, typename Rows::type::result>) ||
              ...);
    });

/// One of several overloads of a kernel: `Overload<void, Parameters...>` is a pointer to the one with these
/// parameters, and the stream behind them on a device.
#if PRECAST_BACKEND_IS_CUDA
template <class Result, class... Parameters>
using Overload = Result (*)(Parameters..., gpu::Stream);
#else
template <class Result, class... Parameters>
using Overload = Result (*)(Parameters...);
#endif

}  // namespace precast::kernels
