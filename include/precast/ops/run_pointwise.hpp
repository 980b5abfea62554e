// pointwise_into: runs an op that makes each value of its result of the values at the same index.
#pragma once

#include <string_view>

#include <precast/backend.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/broadcast.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError unless an operand is exactly the result's memory or does not overlap it; an operand of
/// shared rows must not overlap it. Returns whether it is the result's memory.
template <class Out, class In>
bool require_no_overlap(std::string_view name, View<Out> out, const View<In>& in) {
  return require_apart_or_same(name, out, in);
}
template <class Out, class In>
bool require_no_overlap(std::string_view name, View<Out> out, const RowBroadcast<In>& in) {
  require_apart(name, out, in.values);
  return false;
}

/// Makes each value of the result by `function` of the inputs' values at its index. The first input, a
/// view, has the result's shape. As its template argument is a row of the op table, all policies with that
/// row share one instance.
template <class Types, class F, class First, class... Rest>
void pointwise_into(std::string_view name, View<typename Types::result> out, const F& function,
                    const First& first, const Rest&... rest) {
  require_same_shape(name, first.shape(), out.shape());
  bool in_place = require_no_overlap(name, out, first);
  ((in_place |= require_no_overlap(name, out, rest)), ...);
  run_op_in_place<Pointwise, Types>(in_place, name, out, [&](auto types, auto to) {
    backend::map_values<decltype(types)>(to, function, first, rest...);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

}  // namespace precast
