// Affine: the scale and the shift at the end of a norm.
#pragma once

#include <cstdint>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// Scale and shift in their own dtype, one row for each batch entry or one for all; without data where a
/// norm has none. A kernel widens them, exactly, in registers.
template <ScalarDtype T, class Space>
struct AffineIn {
  ViewIn<const T, Space> scale, shift;
  std::int64_t rows_per_batch = 0;  ///< 0: one row for all
  bool one_plus = false;  ///< values are multiplied by 1 + scale (in f32), as adaptive norms have it

  /// The row of parameters for row r of values.
  std::int64_t row_for(std::int64_t r) const { return rows_per_batch ? r / rows_per_batch : 0; }
};

inline namespace PRECAST_BACKEND {

/// Scale and shift in the memory of this translation unit's backend.
template <ScalarDtype T>
using Affine = AffineIn<T, BackendSpace>;

}  // namespace PRECAST_BACKEND

}  // namespace precast
