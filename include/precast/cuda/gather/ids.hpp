// Row numbers as kernels read them: as launch arguments, in as many launches as they need, or from device
// memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/tensor/indices.hpp>

namespace precast::gpu::detail {

/// The numbers of one launch, passed as its arguments: nothing is copied to the device before. Ops have
/// checked them.
struct Ids {
  static constexpr int most = 512;
  std::int32_t values[most];
  PRECAST_DEVICE std::int32_t of_row(std::int64_t row) const { return values[row]; }
  PRECAST_DEVICE static constexpr bool is_valid(std::int32_t) { return true; }
};

/// Numbers on the device, valid below a limit.
template <class Number>
struct IndicesOnDevice {
  GlobalPointer<const Number> values;
  std::int64_t limit;

  IndicesOnDevice(IndicesIn<Number, DeviceSpace> given, std::int64_t below)
      : values(global_pointer(given.data, given.count)), limit(below) {}
  PRECAST_DEVICE Number of_row(std::int64_t row) const { return values[row]; }
  PRECAST_DEVICE bool is_valid(Number number) const {
    return planted<"index not checked">(number >= 0 && number < limit, true);
  }
};

/// Calls `start(first row, rows, their ids)` for as many rows at a time as a launch takes as arguments.
template <class Start>
void for_each_launch(std::span<const std::int32_t> ids, Start&& start) {
  for (std::size_t first = 0; first < ids.size(); first += Ids::most) {
    const auto some = ids.subspan(first, std::min<std::size_t>(ids.size() - first, Ids::most));
    Ids part{};
    std::copy(some.begin(), some.end(), part.values);
    start(static_cast<std::int64_t>(first), static_cast<std::int64_t>(some.size()), part);
  }
}

}  // namespace precast::gpu::detail
