// Resampling of NHWC images.
#pragma once

#include <cstdint>
#include <string>

#include <precast/backend.hpp>
#include <precast/backend/upsample_nearest.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>

namespace precast {

namespace detail {

/// The shape of [B, H, W, C] with each pixel enlarged to factor x factor. May throw ShapeError.
inline Shape enlarged(const Shape& from, std::int64_t factor) {
  const auto has_no_size = [&](std::int64_t side) { return side > 0 && factor > Shape::max_elements / side; };
  if (from.rank() != 4 || factor < 1 || has_no_size(from[1]) || has_no_size(from[2]))
    throw ShapeError("upsample_nearest: " + to_string(from) + " by " + std::to_string(factor) +
                     " is not [B, H, W, C] by 1 or more, to a size that a tensor can have");
  return {from[0], from[1] * factor, from[2] * factor, from[3]};
}

inline namespace PRECAST_BACKEND {

/// Implements upsample_nearest_into on views.
template <class Row, class X>
void upsample_view_into(X x, std::int64_t factor, View<typename Row::result> out) {
  const Shape &size = out.shape(), whole = enlarged(x.shape(), factor);
  const auto cut = [&](std::size_t side) {
    return size[side] <= whole[side] && size[side] > whole[side] - factor;
  };
  if (size.rank() != 4 || size[0] != whole[0] || size[3] != whole[3] || !cut(1) || !cut(2))
    shapes_do_not_fit("upsample_nearest", whole, size,
                      "are the shapes of the result and of the output given for it");
  require_apart("upsample_nearest", out, x);
  run_op_into<Pointwise, Row>("upsample_nearest", out, [&](auto types, auto to) {
    backend::upsample_nearest<decltype(types)>(x, factor, to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Nearest-neighbour enlargement: each pixel becomes factor x factor pixels, and the last rows and columns
/// may be cropped. x [B, H, W, C] -> [B, H', W', C] in Activation, where factor (H - 1) < H' <= factor H,
/// and likewise W'; `out` must not overlap x. Throws ShapeError for another rank, a factor below 1 or
/// another size.
template <PolicyType P, ScalarArray X>
void upsample_nearest_into(const X& x, std::int64_t factor, ResultOf<P, Pointwise> out,
                           const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::upsample_view_into<precisions<P, Pointwise>>(as_view(x), factor, out.view());
}

/// The same into a new tensor, uncropped.
template <PolicyType P, ScalarArray X>
auto upsample_nearest(const X& x, std::int64_t factor, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(detail::enlarged(x.shape(), factor), context,
                                        [&](auto out) { upsample_nearest_into<P>(x, factor, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
