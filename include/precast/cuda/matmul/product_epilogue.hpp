// ProductEpilogue: the bias, the activation, the one rounding and the store after a sum of products.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/matmul/warp_product.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// The destination of results rounded to Result; specialised for AnyResult and WithAdditions.
template <class Result, bool Saturates>
struct ProductResults {
  GlobalPointer<Result> data;
  std::int64_t row_stride;
  bool wide;  ///< whether rows can be written 16 bytes at a time

  /// The sum to which a bias is added.
  PRECAST_DEVICE f32 scaled(f32 sum) const { return sum; }
  PRECAST_DEVICE void store(std::int64_t row, int feature, f32 value) const {
    data[row * row_stride + feature] =
        round_to<Result, Saturates>(with_planted_dtype<"result ignored">(value));
  }
  /// Stores the first `present` of eight results, from a feature on that is a multiple of eight.
  PRECAST_DEVICE void store(std::int64_t row, int first_feature, const Run<f32, 8>& values,
                            int present) const {
    store_rounded<Saturates>(data + (row * row_stride + first_feature), values, present, wide);
  }
};

/// result = activate(sum + bias), in f32, rounded once.
template <class Result, bool Saturates>
struct ProductEpilogue {
  using result = Result;

  ProductResults<Result, Saturates> results;
  GlobalPointer<const f32> bias;
  std::int64_t rows;
  int features;
  ActivationFunction activate;
  bool has_bias;

  PRECAST_DEVICE f32 bias_of(int feature) const {
    return has_bias && feature < features ? bias[planted<"bias of another feature">(feature, feature / 2)]
                                          : 0.0f;
  }

  /// The result of a sum before it is rounded.
  PRECAST_DEVICE f32 finished(f32 sum, f32 bias_value) const {
    return elementwise::activated(activate, results.scaled(sum) + bias_value);
  }

  /// Finishes and stores one result.
  PRECAST_DEVICE void store(std::int64_t row, int feature, f32 sum) const {
    if (row >= rows || feature >= features) return;
    results.store(row, feature, finished(sum, bias_of(feature)));
  }

  /// Finishes and stores eight results of a row; first_feature is a multiple of eight.
  PRECAST_DEVICE void store(std::int64_t row, int first_feature, const EightAccumulators& sums,
                            const f32 (&biases)[8]) const {
    if (row >= rows || first_feature >= features) return;
    Run<f32, 8> values;
    PRECAST_UNROLL
    for (int i = 0; i < 8; ++i) values[i] = finished(sums.values[i], biases[i]);
    results.store(row, first_feature, values, features - first_feature);
  }
};

/// Adds the lanes' partial sums of few features and rows in a fixed tree, and has each lane store one of
/// the results.
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

template <bool Saturates, ScalarDtype Result>
ProductResults<Result, Saturates> product_results(const DeviceView<Result>& out) {
  return {pointer_to(out), out.row_stride(), rows_begin_on_16_bytes(out)};
}

/// The epilogue of as many results as `out` has elements.
template <class Result, bool Saturates, ScalarDtype T>
ProductEpilogue<Result, Saturates> product_epilogue(const Epilogue& epilogue,
                                                    const ProductResults<Result, Saturates>& results,
                                                    const DeviceView<T>& out) {
  return {.results = results,
          .bias = global_pointer(epilogue.bias.data(), epilogue.bias.elements()),
          .rows = out.rows(),
          .features = static_cast<int>(out.columns()),
          .activate = epilogue.activate,
          .has_bias = epilogue.bias.elements() != 0};
}
template <bool Saturates, ScalarDtype Result>
ProductEpilogue<Result, Saturates> product_epilogue(const Epilogue& epilogue, const DeviceView<Result>& out) {
  return product_epilogue(epilogue, product_results<Saturates>(out), out);
}

}  // namespace precast::gpu
