// AnyResult: results of products whose dtype is known at run time alone, so that one kernel is there for all
// of them.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/matmul/library_dtypes.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/problem/epilogue.hpp>

namespace precast::gpu {

/// Stands in a row of the op table for f32, bf16 or f16.
struct AnyResult {};

/// result = activate(sum + bias), in f32, rounded once.
template <>
struct ProductEpilogue<AnyResult, false> : ProductEpilogue<f32, false> {
  using InF32 = ProductEpilogue<f32, false>;

  GlobalPointer<bf16> out_in_bf16;
  GlobalPointer<f16> out_in_f16;
  LibraryDtype dtype;

  /// One result.
  PRECAST_DEVICE void store(std::int64_t row, int feature, f32 sum) const {
    if (row >= rows || feature >= features) return;
    const f32 value = finished(sum, bias_of(feature), 0.0f);
    in_its_dtype([&](auto to) { to[row * row_stride + feature] = round_to<ValueOf<decltype(to)>>(value); });
  }

  /// Eight results of a row; first_feature is a multiple of eight.
  PRECAST_DEVICE void store(std::int64_t row, int first_feature, const EightAccumulators& sums,
                            const f32 (&biases)[8]) const {
    if (row >= rows || first_feature >= features) return;
    Run<f32, 8> results;
    PRECAST_UNROLL
    for (int i = 0; i < 8; ++i) results[i] = finished(sums.values[i], biases[i], 0.0f);
    in_its_dtype([&](auto to) {
      store_rounded<false>(to + (row * row_stride + first_feature), results, features - first_feature, wide);
    });
  }

 private:
  template <class Pointer>
  using ValueOf = std::remove_cvref_t<decltype(*Pointer())>;

  /// Calls `function` with the pointer to the results in the dtype that they have.
  template <class F>
  PRECAST_DEVICE void in_its_dtype(const F& function) const {
    if (dtype == LibraryDtype::bf16)
      function(out_in_bf16);
    else if (dtype == LibraryDtype::f16)
      function(out_in_f16);
    else
      function(out);
  }
};

/// Where results of T go.
template <ScalarDtype T>
ProductEpilogue<AnyResult, false> epilogue_into_any(const Epilogue& epilogue, const DeviceView<T>& to) {
  const ProductEpilogue<T, false> known = product_epilogue<false>(epilogue, DeviceView<const T>(), to);
  ProductEpilogue<AnyResult, false> any{};
  any.bias = known.bias;
  any.rows = known.rows;
  any.row_stride = known.row_stride;
  any.features = known.features;
  any.activate = known.activate;
  any.has_bias = known.has_bias;
  any.wide = known.wide;
  any.dtype = library_dtype<T>();
  if constexpr (std::is_same_v<T, bf16>)
    any.out_in_bf16 = known.out;
  else if constexpr (std::is_same_v<T, f16>)
    any.out_in_f16 = known.out;
  else
    any.out = known.out;
  return any;
}

}  // namespace precast::gpu
