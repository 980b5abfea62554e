// The policies under which precast bench attention measures attention: plain and flash, in those of these
// three precisions that a build compiles.
#pragma once

#include <boost/hana/concat.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/policy.hpp>

namespace precast::kernels {

namespace detail {

template <PathDtype T>
constexpr auto timed_in() {
  if constexpr (precision_compiled(precision_of<T>))
    return boost::hana::tuple_t<Policy<Storage<T>>, Policy<Storage<T>, Flash>>;
  else
    return boost::hana::tuple<>();
}

}  // namespace detail

using TimedPolicies = decltype(boost::hana::concat(
    boost::hana::concat(detail::timed_in<f32>(), detail::timed_in<bf16>()), detail::timed_in<f16>()));

}  // namespace precast::kernels
