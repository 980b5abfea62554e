// Resampling of NHWC images.
#pragma once

#include <cstdint>
#include <string>

#include <precast/backend/backend.hpp>
#include <precast/backend/gather.hpp>
#include <precast/ops/run_op.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Nearest-neighbour enlargement: each pixel becomes factor x factor pixels. x [B, H, W, C] ->
/// [B, factor H, factor W, C] in Activation. Throws ShapeError for another rank or a factor below 1.
template <PolicyType P, ScalarArray X>
auto upsample_nearest(const X& x, std::int64_t factor) {
  const Shape& from = x.shape();
  if (from.rank() != 4 || factor < 1)
    throw ShapeError("upsample_nearest: " + to_string(from) + " by " + std::to_string(factor) +
                     " is not [B, H, W, C] by 1 or more");
  const Shape shape{from[0], from[1] * factor, from[2] * factor, from[3]};
  return detail::run_op<Pointwise, precisions<P, Pointwise>>(
      "upsample_nearest", shape,
      [&](auto types, auto out) { backend::upsample_nearest<decltype(types)>(as_view(x), factor, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
