// AnyResult: results of products whose dtype is known only at run time, so that one kernel serves all of
// them.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/matmul/library_dtypes.hpp>
#include <precast/cuda/matmul/product_epilogue.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// Stands for f32, bf16 or f16 in a row of the op table.
struct AnyResult {};

/// The destination of such results: one of the pointers is set, the one of `dtype`.
template <>
struct ProductResults<AnyResult, false> {
  GlobalPointer<f32> in_f32;
  GlobalPointer<bf16> in_bf16;
  GlobalPointer<f16> in_f16;
  std::int64_t row_stride;
  bool wide;
  LibraryDtype dtype;

  PRECAST_DEVICE f32 scaled(f32 sum) const { return sum; }
  PRECAST_DEVICE void store(std::int64_t row, int feature, f32 value) const {
    in_their_dtype([&](const auto& results) { results.store(row, feature, value); });
  }
  PRECAST_DEVICE void store(std::int64_t row, int first_feature, const Run<f32, 8>& values,
                            int present) const {
    in_their_dtype([&](const auto& results) { results.store(row, first_feature, values, present); });
  }

 private:
  template <class F>
  PRECAST_DEVICE void in_their_dtype(const F& function) const {
    if (dtype == LibraryDtype::bf16)
      function(ProductResults<bf16, false>{in_bf16, row_stride, wide});
    else if (dtype == LibraryDtype::f16)
      function(ProductResults<f16, false>{in_f16, row_stride, wide});
    else
      function(ProductResults<f32, false>{in_f32, row_stride, wide});
  }
};

template <ScalarDtype T>
ProductResults<AnyResult, false> results_of_any(const DeviceView<T>& out) {
  ProductResults<AnyResult, false> any{};
  any.row_stride = out.row_stride();
  any.wide = rows_begin_on_16_bytes(out);
  any.dtype = library_dtype<T>();
  if constexpr (std::is_same_v<T, bf16>)
    any.in_bf16 = pointer_to(out);
  else if constexpr (std::is_same_v<T, f16>)
    any.in_f16 = pointer_to(out);
  else
    any.in_f32 = pointer_to(out);
  return any;
}

}  // namespace precast::gpu
