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
void add_per_sample_into(const X& x, const V& values, ResultOf<P, Pointwise> out,
                         const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const Shape &shape = x.shape(), &given = values.shape();
  if (shape.rank() < 2 || given.rank() != 2 || given[1] != shape.back() ||
      (given[0] != 1 && given[0] != shape[0]))
    detail::shapes_do_not_fit("add_per_sample", shape, given, "are not [B, ..., C] and [B, C] or [1, C]");
  detail::require_same_shape("add_per_sample", shape, result.shape());
  if (result.elements() == 0) return;
  const std::int64_t rows = result.rows() / given[0];
  detail::pointwise_into<precisions<P, Pointwise>>("add_per_sample", result, elementwise::Add{}, as_view(x),
                                                   RowBroadcast{as_view(values), rows});
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray V>
auto add_per_sample(const X& x, const V& values, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(x.shape(), context,
                                        [&](auto out) { add_per_sample_into<P>(x, values, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
