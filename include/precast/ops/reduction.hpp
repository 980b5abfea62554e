// Sums and means, over the last dimension or over all values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/backend/reduction.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>

namespace precast {

/// Which values are reduced to one: all of them (x.sum() in PyTorch), or those of each row (x.sum(-1)).
enum class Over { all, last_axis };

namespace detail {

/// The shape of x once it is reduced.
inline Shape reduced_shape(const Shape& x, Over over) {
  return over == Over::all || x.rank() == 0 ? Shape{} : Shape(x.sizes().first(x.rank() - 1));
}

inline namespace PRECAST_BACKEND {

template <PolicyType P, ScalarArray X>
void reduce_into(std::string_view name, const X& x, Over over, Reduce reduce,
                 View<typename precisions<P, Reduction>::result> out) {
  require_same_shape(name, reduced_shape(x.shape(), over), out.shape());
  require_apart(name, out, as_view(x));
  const std::int64_t length = over == Over::all ? x.elements() : x.shape().back();
  run_op_into<Reduction, precisions<P, Reduction>>(name, out, [&](auto types, auto to) {
    backend::reduce_values<decltype(types)>(as_view(x), length, reduce, to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// The sum of all values of x [...], as a tensor of rank 0, or with Over::last_axis of each row of x
/// [..., C] -> [...]. The result is f32, and so are sums without Downcast<Reduction>: the error is a few
/// roundings of sum |x| for any number of values, and the bits are the same for any number of threads. No
/// values sum to 0. `out` must not overlap x. Throws ShapeError where it has another shape.
template <PolicyType P, ScalarArray X>
void sum_into(const X& x, Over over, ResultOf<P, Reduction> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::reduce_into<P>("sum", x, over, Reduce::sum, out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto sum(const X& x, Over over = Over::all, const Context& context = current_context()) {
  return detail::into_new<P, Reduction>(detail::reduced_shape(x.shape(), over), context,
                                        [&](auto out) { sum_into<P>(x, over, out); });
}

/// The mean of the same values: their sum over their number, rounded once more. The mean of no values is
/// NaN. `out` must not overlap x. Throws ShapeError where it has another shape.
template <PolicyType P, ScalarArray X>
void mean_into(const X& x, Over over, ResultOf<P, Reduction> out,
               const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::reduce_into<P>("mean", x, over, Reduce::mean, out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto mean(const X& x, Over over = Over::all, const Context& context = current_context()) {
  return detail::into_new<P, Reduction>(detail::reduced_shape(x.shape(), over), context,
                                        [&](auto out) { mean_into<P>(x, over, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
