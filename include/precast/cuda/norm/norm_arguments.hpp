// NormArguments: the input, the result and the parameters of every norm's kernel.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/problem/affine.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

template <class From, class To, class W>
struct NormArguments {
  DeviceRows<const From> x;
  DeviceRows<To> out;
  DeviceRows<const W> scale, shift;
  bool scales, shifts, one_plus;
  Divisor rows_per_batch;  ///< 0: one row of parameters for all
  f32 eps;
};

template <class From, class To, class W>
NormArguments<From, To, W> norm_arguments(const DeviceView<const From>& x,
                                          const AffineIn<W, DeviceSpace>& affine, f32 eps,
                                          const DeviceView<To>& out) {
  return {.x = x,
          .out = out,
          .scale = affine.scale,
          .shift = affine.shift,
          .scales = affine.scale.data() != nullptr,
          .shifts = affine.shift.data() != nullptr,
          .one_plus = affine.one_plus,
          .rows_per_batch = affine.rows_per_batch,
          .eps = eps};
}

}  // namespace precast::gpu::detail
