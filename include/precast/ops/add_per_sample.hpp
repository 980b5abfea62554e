// add_per_sample: a value for each channel, added to all pixels of a sample.
#pragma once

#include <cstdint>

#include <precast/backend.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/problem/broadcast.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/elementwise.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// x + values, where all rows of a sample get its values: x [B, ..., C], values [B, C], or [1, C] for all
/// samples. `out` has x's shape, is x itself or apart from it, and is apart from values. Throws ShapeError
/// where they do not fit.
template <PolicyType P, ScalarArray X, ScalarArray V>
void add_per_sample_into(const X& x, const V& values, View<typename precisions<P, Pointwise>::result> out) {
  const Shape &shape = x.shape(), &given = values.shape();
  if (shape.rank() < 2 || given.rank() != 2 || given[1] != shape.back() ||
      (given[0] != 1 && given[0] != shape[0]))
    detail::shapes_do_not_fit("add_per_sample", shape, given, "are not [B, ..., C] and [B, C] or [1, C]");
  detail::require_same_shape("add_per_sample", shape, out.shape());
  if (out.elements() == 0) return;
  const std::int64_t rows = out.rows() / given[0];
  detail::pointwise_into<precisions<P, Pointwise>>("add_per_sample", out, elementwise::Add{}, as_view(x),
                                                   RowBroadcast{as_view(values), rows});
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray V>
auto add_per_sample(const X& x, const V& values) {
  Tensor<typename precisions<P, Pointwise>::result> out(x.shape());
  add_per_sample_into<P>(x, values, out.view());
  return out;
}

/// Each in a context, which stands before its other arguments.
template <PolicyType P, class... Arguments>
auto add_per_sample_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return add_per_sample_into<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto add_per_sample(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return add_per_sample<P>(arguments...); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
