// Dropout on the device, with the host's mask.
#pragma once

#include <cstdint>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/problem/philox.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

// Bytes moved: each value read once and written once, the minimum.
template <int Count, bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    dropout_kernel(MapOutput<To> out, MapInput<From> x, DropoutMask mask) {
  const MapPlace<Count> place = map_place<Count>(out);
  const auto loads = map_loads(x, place);
  PRECAST_UNROLL
  for (int run = 0; run < map_tile.runs; ++run) {
    const std::int64_t first =
        planted<"rows count from 0">(place.row, std::int64_t{0}) * out.columns + place.column(run);
    PhiloxWords words = mask.words(first / 4);
    Run<To, Count> results{};
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) {
      const int word = static_cast<int>((first + i) % 4);
      if (i > 0 && planted<"words of the first four">(word == 0, false)) words = mask.words((first + i) / 4);
      // Not indexed, since registers cannot be indexed at run time.
      const std::uint32_t bits = word < 2 ? (word == 0 ? words.words[0] : words.words[1])
                                          : (word == 2 ? words.words[2] : words.words[3]);
      results.set(i, round_to<To, Saturates>(to_f32(loads.runs[run][i]) * mask.factor_of(bits)));
    }
    store_run(out.data + place.row * out.row_stride + place.column(run), results, place.present(run),
              place.aligned);
  }
}

}  // namespace detail

/// x with each value multiplied by 0 or by 1 / (1 - probability), as ops/dropout.hpp says.
template <class Types, class From>
void dropout(DeviceView<const From> x, f32 probability, std::uint64_t seed, std::uint64_t offset,
             DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>;
  if (x.elements() == 0) return;
  const bool whole = x.contiguous() && out.contiguous();
  const auto in = detail::as_one_row(x, whole);
  const auto to = detail::as_one_row(out, whole);
  const detail::MapOutput<To> output{pointer_to(to),
                                     to.row_stride(),
                                     to.rows(),
                                     to.columns(),
                                     plan_map(to.rows(), to.columns(), count),
                                     rows_are_aligned<count>(in) && rows_are_aligned<count>(to)};
  launch("dropout", detail::dropout_kernel<count, Types::saturate, From, To>,
         {{grid_blocks(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output, detail::map_input(in),
         DropoutMask(probability, seed, offset));
}

}  // namespace precast::gpu
