// Row numbers as arguments of launches, and the launches that all of them need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

/// The numbers of one launch, which travel with it: nothing is copied to the device before.
struct Ids {
  static constexpr int most = 512;
  std::int32_t values[most];
};

/// Calls `start(rows of out, their ids)` for as many rows at a time as a launch takes along.
template <class To, class Start>
void for_each_launch(std::span<const std::int32_t> ids, const DeviceView<To>& out, Start&& start) {
  if (out.elements() == 0) return;
  for (std::size_t first = 0; first < ids.size(); first += Ids::most) {
    const auto some = ids.subspan(first, std::min<std::size_t>(ids.size() - first, Ids::most));
    Ids part{};
    std::copy(some.begin(), some.end(), part.values);
    start(out.rows_between(static_cast<std::int64_t>(first), static_cast<std::int64_t>(some.size())), part);
  }
}

}  // namespace precast::gpu::detail
