// Affine: the scale and the shift that a norm ends with.
#pragma once

#include <cstdint>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Parameters as f32, one row for each batch or one for all; without data where a norm has none.
struct Affine {
  View<const f32> scale, shift;
  std::int64_t rows_per_batch = 0;  ///< 0: one row for all

  const f32* row(const View<const f32>& of, std::int64_t r) const {
    if (!of.data()) return nullptr;
    return of.data() + (rows_per_batch ? r / rows_per_batch * of.row_stride() : 0);
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast
