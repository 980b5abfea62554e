// The values of an array by their index, whatever its rows.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

/// Values of an array as f32, counted row by row.
template <class T>
struct CountedValues {
  GlobalPointer<const T> data;
  std::int64_t columns, row_stride;
  PRECAST_DEVICE f32 operator[](std::int64_t place) const {
    const DividedIndex index = divide_index(place, columns);
    return to_f32(data[index.quotient * row_stride + index.rest]);
  }
};
template <class T>
CountedValues<T> counted_values(const DeviceView<const T>& x) {
  return {pointer_to(x), x.columns(), x.row_stride()};
}

}  // namespace precast::gpu::detail
