// The kernel instances that language models in training call: those in the rows of each policy that this
// build trains under (CMake's PRECAST_TRAINING), and for the watch hook the same in f32. A policy belongs
// to the units of the precision that it leaves between ops.
#pragma once

#include <tuple>
#include <type_traits>

#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/unpack.hpp>
#include <stamp.hpp>
#include <trained_policies.hpp>

#include <precast/policy/gradient_table.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::kernels::trained {

// The dtypes that models in training hand to kernels.

/// The dtype of results and of their gradients.
template <PolicyType P>
using In = typename P::activation;
/// The dtype of parameters, as ops read them.
template <PolicyType P>
using Stored = vector_storage_for<typename P::storage>;
/// The dtype of parameters' gradients.
template <PolicyType P>
using ParameterGradient = typename training<P>::parameter_gradient;
/// The dtype of parameters, as the optimiser changes them.
template <PolicyType P>
using Master = typename training<P>::master;

/// `Kernels<P, Types>::functions` for a row, and for the same row in f32 where ops are watched.
template <template <class P, class Types> class Kernels, class P, class Row>
constexpr auto with_f32_counterpart() {
  if constexpr (watch::compiled && !std::is_same_v<Row, widened_to_f32<Row>>)
    return std::tuple(Kernels<P, Row>::functions, Kernels<P, widened_to_f32<Row>>::functions);
  else
    return Kernels<P, Row>::functions;
}

namespace detail {

template <template <class P> class Kernels, class P>
constexpr auto functions_of_this_unit() {
  if constexpr (kernels::detail::is_of_this_unit<typename P::activation>)
    return Kernels<P>::functions;
  else
    return std::tuple();
}

}  // namespace detail

/// The addresses of `Kernels<P>::functions` for the policies of training of this unit.
template <template <class P> class Kernels, class Policies = TrainedPolicies>
constexpr auto addresses() {
  return boost::hana::unpack(Policies{}, []<class... P>(P...) {
    return std::tuple(detail::functions_of_this_unit<Kernels, typename P::type>()...);
  });
}

}  // namespace precast::kernels::trained
