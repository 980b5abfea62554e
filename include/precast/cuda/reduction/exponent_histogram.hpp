// The exponent histogram of an array's values, counted on the device.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/problem/exponent_histogram.hpp>
#include <precast/tensor/view.hpp>

#if PRECAST_ON_DEVICE
#include <cub/device/device_histogram.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <precast/cuda/runtime/check.hpp>
#include <precast/cuda/runtime/with_scratch.hpp>
#else
#include <simt/stream.hpp>
#endif

namespace precast::gpu {

namespace detail {

/// Bins of a histogram: zeros, the powers of ExponentHistogram, what is not finite.
inline constexpr int power_bins = ExponentHistogram::powers + 2;

/// The bin of value `place` of a view.
template <class T>
struct PowerBin {
  const T* data;
  std::int64_t columns, row_stride;
  PRECAST_DEVICE int operator()(std::int64_t place) const {
    const auto [row, column] = divide_index(place, columns);
    const f32 value = to_f32(data[row * row_stride + column]);
    if (value == 0) return 0;
    if (!(fabsf(value) <= 3.402823466e38f)) return power_bins - 1;
    return ilogbf(value) - ExponentHistogram::lowest + 1;
  }
};

/// Counts of the bins, in memory of the device. CUB's histogram, whose atomic additions are of integers and
/// have one result; CUB does not compile under a host compiler, and the emulator's device has a plain loop in
/// its place.
template <class T>
void histogram_of_powers(DeviceView<const T> values, unsigned* counts, Stream stream) {
  const PowerBin<T> bin{values.data(), values.columns(), values.row_stride()};
#if PRECAST_ON_DEVICE
  const auto bins = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), bin);
  with_scratch([&](void* scratch, std::size_t& bytes) {
    check(cub::DeviceHistogram::HistogramEven(scratch, bytes, bins, counts, power_bins + 1, 0, power_bins,
                                              values.elements(), stream),
          "count powers of two");
  });
#else
  const simt::StreamWork work("histogram_of_powers", stream);
  work.reads(values.data(), static_cast<std::size_t>(values.elements()) * sizeof(T));
  work.writes(counts, power_bins * sizeof(unsigned));
  for (int i = 0; i < power_bins; ++i) counts[i] = 0;
  for (std::int64_t place = 0; place < values.elements(); ++place) ++counts[bin(place)];
#endif
}

}  // namespace detail

/// Adds the values of an array, fewer than 2^32, to counts. Waits for the stream.
template <ScalarDtype T>
void count_exponents(DeviceView<const T> values, ExponentHistogram& counts, Stream stream) {
  if (values.elements() == 0) return;
  const StreamScope scope(stream);  // of the memory below
  std::vector<unsigned> found(detail::power_bins);
  const std::size_t bytes = found.size() * sizeof(unsigned);
  const BufferIn<Memory> on_device(bytes);
  detail::histogram_of_powers(values, reinterpret_cast<unsigned*>(on_device.data()), stream);
  Memory::copy_to_host(found.data(), on_device.data(), bytes);
  counts.zeros += found.front();
  counts.non_finite += found.back();
  for (std::size_t i = 0; i < ExponentHistogram::powers; ++i) counts.counts[i] += found[i + 1];
}

}  // namespace precast::gpu
