// Softmax over the last dimension.
#pragma once

#include <precast/backend/backend.hpp>
#include <precast/backend/softmax.hpp>
#include <precast/ops/run_op.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// e^x / sum e^x over the last dimension, returned in f32, and computed in it without Downcast<Softmax>. x
/// [..., C] -> [..., C]. A row that
/// holds +inf or NaN, or nothing but -inf, gives NaN.
template <PolicyType P, ScalarArray X>
auto softmax(const X& x) {
  return detail::run_op<Softmax, precisions<P, Softmax>>("softmax", x.shape(), [&](auto types, auto out) {
    backend::softmax<decltype(types)>(as_view(x), out);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
