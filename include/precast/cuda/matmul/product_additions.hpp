// Additions that few products take besides a bias and an activation: scales of their operands, and a
// residual. Kernels of other products carry none of them.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// The inputs of a product besides x, weight and epilogue.
template <ScalarDtype Result>
struct ProductAdditions {
  DeviceView<const Result> residual{};  ///< added to the activated sums, before they are rounded; may be the
                                        ///< result's memory itself
  OperandScales scales{};
};

/// Stands for results with additions in a row of the op table.
template <ScalarDtype Result>
struct WithAdditions {};

/// Multiplies sums by the scales, and adds the residual to the results before they are stored.
template <ScalarDtype Result, bool Saturates>
struct ProductResults<WithAdditions<Result>, Saturates> {
  ProductResults<Result, Saturates> to;
  GlobalPointer<const Result> residual;
  GlobalPointer<const f32> x_scale, weight_scale;
  std::int64_t residual_stride;
  bool has_residual, residual_is_wide, has_x_scale, has_weight_scale;

  PRECAST_DEVICE f32 scaled(f32 sum) const {
    if (has_x_scale) sum *= x_scale[0];
    return has_weight_scale ? sum * weight_scale[0] : sum;
  }
  PRECAST_DEVICE void store(std::int64_t row, int feature, f32 value) const {
    if (has_residual) value += to_f32(residual[row * residual_stride + feature]);
    to.store(row, feature, value);
  }
  PRECAST_DEVICE void store(std::int64_t row, int first_feature, Run<f32, 8> values, int present) const {
    if (has_residual) {
      const auto there =
          load_f32<8>(residual + (row * residual_stride + first_feature), present, residual_is_wide);
      PRECAST_UNROLL
      for (int i = 0; i < 8; ++i) values[i] += there[i];
    }
    to.store(row, first_feature, values, present);
  }
};

/// An epilogue with additions. A residual without data counts as none.
template <bool Saturates, ScalarDtype Result>
ProductEpilogue<WithAdditions<Result>, Saturates> product_epilogue(
    const Epilogue& epilogue, const DeviceView<Result>& out, const ProductAdditions<Result>& additions) {
  const auto& [residual, scales] = additions;
  return product_epilogue(
      epilogue,
      ProductResults<WithAdditions<Result>, Saturates>{.to = product_results<Saturates>(out),
                                                       .residual = pointer_to(residual),
                                                       .x_scale = global_pointer(scales.x, 1),
                                                       .weight_scale = global_pointer(scales.weight, 1),
                                                       .residual_stride = residual.row_stride(),
                                                       .has_residual = residual.data() != nullptr,
                                                       .residual_is_wide = rows_begin_on_16_bytes(residual),
                                                       .has_x_scale = scales.x != nullptr,
                                                       .has_weight_scale = scales.weight != nullptr},
      out);
}

}  // namespace precast::gpu
