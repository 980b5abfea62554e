// ProductEpilogue: what follows a sum of products: bias, activation, a residual, the one rounding, and the
// store.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/matmul/operand_scales.hpp>
#include <precast/cuda/matmul/warp_product.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// result = activate(scales * sum + bias) + residual, in f32, rounded to Result once.
template <class Result, bool Saturates>
struct ProductEpilogue {
  GlobalPointer<Result> out;
  GlobalPointer<const f32> bias;
  GlobalPointer<const Result> residual;
  GlobalPointer<const f32> x_scale, weight_scale;
  std::int64_t rows, row_stride, residual_stride;
  int features;
  ActivationFunction activate;
  bool has_bias, has_residual, has_x_scale, has_weight_scale;
  bool wide;  ///< whether rows of results, and of the residual, can be read and written 16 bytes at a time

  PRECAST_DEVICE f32 bias_of(int feature) const {
    return has_bias && feature < features ? bias[planted<"bias of another feature">(feature, feature / 2)]
                                          : 0.0f;
  }

  /// What becomes of a sum, before the one rounding.
  PRECAST_DEVICE f32 finished(f32 sum, f32 bias_value, f32 residual_value) const {
    if (has_x_scale) sum *= x_scale[0];
    if (has_weight_scale) sum *= weight_scale[0];
    const f32 value = elementwise::activated(activate, sum + bias_value);
    return has_residual ? value + residual_value : value;
  }

  /// One result.
  PRECAST_DEVICE void store(std::int64_t row, int feature, f32 sum) const {
    if (row >= rows || feature >= features) return;
    const f32 rest = has_residual ? to_f32(residual[row * residual_stride + feature]) : 0.0f;
    out[row * row_stride + feature] = round_to<Result, Saturates>(
        with_planted_dtype<"result ignored">(finished(sum, bias_of(feature), rest)));
  }

  /// Eight results of a row; first_feature is a multiple of eight.
  PRECAST_DEVICE void store(std::int64_t row, int first_feature, const EightAccumulators& sums,
                            const f32 (&biases)[8]) const {
    if (row >= rows || first_feature >= features) return;
    const int present = features - first_feature;
    Run<f32, 8> results{};
    if (has_residual)
      results = load_f32<8>(residual + (row * residual_stride + first_feature), present, wide);
    PRECAST_UNROLL
    for (int i = 0; i < 8; ++i) results[i] = finished(sums.values[i], biases[i], results[i]);
    store_rounded<Saturates>(out + (row * row_stride + first_feature), results, present, wide);
  }
};

/// Adds what the lanes of a warp have summed of few features and rows, in a fixed tree, and has each lane
/// store one of the results.
template <int Features, int Rows, class Result, bool Saturates>
PRECAST_DEVICE void store_sums_of_lanes(const f32 (&sums)[Features][Rows], int first_feature,
                                        const ProductEpilogue<Result, Saturates>& store) {
  static_assert(Features * Rows <= threads_per_warp, "store_sums_of_lanes: a lane stores one result.");
  f32 mine = 0;
  PRECAST_UNROLL
  for (int f = 0; f < Features; ++f) {
    PRECAST_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const f32 sum = warp_sum(sums[f][r]);  // of all lanes, in every lane
      if (lane_index() == f * Rows + r) mine = sum;
    }
  }
  if (lane_index() >= Features * Rows) return;
  const int feature = planted<"lane of a result">(lane_index() / Rows, lane_index() % Features);
  store.store(lane_index() % Rows, first_feature + feature, mine);
}

/// A residual without data is none.
template <bool Saturates, ScalarDtype Result>
ProductEpilogue<Result, Saturates> product_epilogue(const Epilogue& epilogue,
                                                    const DeviceView<const Result>& residual,
                                                    const DeviceView<Result>& out,
                                                    const OperandScales& scales = {}) {
  const bool has_residual = residual.data() != nullptr;
  return {.out = pointer_to(out),
          .bias = global_pointer(epilogue.bias.data(), epilogue.bias.elements()),
          .residual = pointer_to(residual),
          .x_scale = global_pointer(scales.x, 1),
          .weight_scale = global_pointer(scales.weight, 1),
          .rows = out.rows(),
          .row_stride = out.row_stride(),
          .residual_stride = residual.row_stride(),
          .features = static_cast<int>(out.columns()),
          .activate = epilogue.activate,
          .has_bias = epilogue.bias.elements() != 0,
          .has_residual = has_residual,
          .has_x_scale = scales.x != nullptr,
          .has_weight_scale = scales.weight != nullptr,
          .wide = rows_begin_on_16_bytes(out) && (!has_residual || rows_begin_on_16_bytes(residual))};
}

}  // namespace precast::gpu
