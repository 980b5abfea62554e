// Resampling of NHWC images.
#pragma once

#include <cstdint>
#include <string>

#include <precast/backend/backend.hpp>
#include <precast/host/convert.hpp>
#include <precast/host/parallel.hpp>
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
      "upsample_nearest", shape, [&](auto types, auto out) {
        using Types = decltype(types);
        if (out.elements() == 0) return;
        const auto in = as_view(x);
        host::parallel_for(from[0] * from[1], [&](std::int64_t line) {
          for (std::int64_t copy = 0; copy < factor; ++copy)
            for (std::int64_t pixel = 0; pixel < shape[2]; ++pixel)
              host::convert_row<typename Types::result, Types::saturate>(
                  in.row(line * from[2] + pixel / factor),
                  out.row((line * factor + copy) * shape[2] + pixel));
        });
      });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
