// What pointwise ops have in common: each value of the result is made of those in the same places.
#pragma once

#include <string_view>

#include <precast/backend.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/broadcast.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// What a pointwise op reads in the places of its result may lie there; rows that are shared may not.
/// Whether it does.
template <class Out, class In>
bool require_no_overlap(std::string_view name, View<Out> out, const View<In>& in) {
  return require_apart_or_same(name, out, in);
}
template <class Out, class In>
bool require_no_overlap(std::string_view name, View<Out> out, const RowBroadcast<In>& in) {
  require_apart(name, out, in.values);
  return false;
}

/// An op that makes each value of the values in the same places of its inputs, of which the first, a view,
/// has the result's shape. Like the others that name a row of the op table, it is stamped once for all
/// policies with that row.
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
