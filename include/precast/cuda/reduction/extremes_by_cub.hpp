// The definition of extremes_of: a device-wide reduction by CUB. For nvcc: Precast's own units have one that
// instantiates it, units from headers alone take it with the watch hook.
#pragma once

#include <algorithm>
#include <cstdint>

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/reduction/extremes.hpp>
#include <precast/cuda/runtime/check.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/with_scratch.hpp>

namespace precast::gpu {

namespace detail {

/// Value `place` of a view, as extremes of one value.
template <class T>
struct ExtremesAt {
  const T* data;
  std::int64_t columns, row_stride;
  PRECAST_DEVICE Extremes operator()(std::int64_t place) const {
    const auto [row, column] = divide_index(place, columns);
    return Extremes::of(to_f32(data[row * row_stride + column]), place);
  }
};

struct AddExtremes {
  PRECAST_DEVICE Extremes operator()(const Extremes& a, const Extremes& b) const { return a + b; }
};

}  // namespace detail

template <ScalarDtype T>
Extremes extremes_of(DeviceView<const T> x, Stream stream) {
  if (x.elements() == 0) return {};
  const StreamScope scope(stream);  // of the memory below
  const BufferIn<Memory> result(sizeof(Extremes));
  auto* const to = reinterpret_cast<Extremes*>(result.data());
  const detail::ExtremesAt<T> at{x.data(), x.columns(), x.row_stride()};
  // Parts, because the CUB of CUDA 12.0 counts values in an int.
  constexpr std::int64_t most = std::int64_t{1} << 30;
  Extremes all;
  for (std::int64_t first = 0; first < x.elements(); first += most) {
    const auto count = static_cast<int>(std::min(most, x.elements() - first));
    const thrust::counting_iterator<std::int64_t> places(first);
    const thrust::transform_iterator<detail::ExtremesAt<T>, thrust::counting_iterator<std::int64_t>, Extremes,
                                     Extremes>
        each(places, at);
    with_scratch([&](void* scratch, std::size_t& bytes) {
      check(cub::DeviceReduce::Reduce(scratch, bytes, each, to, count, detail::AddExtremes{}, Extremes{},
                                      stream),
            "find the extremes of a result");
    });
    Extremes part;
    Memory::copy_to_host(&part, to, sizeof(part));
    all = all + part;
  }
  return all;
}

}  // namespace precast::gpu
