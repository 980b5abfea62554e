// The cross entropy of logits: each row's loss, then the mean of the losses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/gather/ids.hpp>
#include <precast/cuda/norm/narrow_sum.hpp>
#include <precast/cuda/norm/row.hpp>
#include <precast/cuda/reduction/sum_rows.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/problem/reduction_steps.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From>
struct CrossEntropyArguments {
  GlobalPointer<const From> x;
  std::int64_t stride, rows, columns;
  bool aligned;
  GlobalPointer<f32> losses;
};

// Bytes moved: each logit read once, the minimum, up to 8192 classes (f32; 16384 of 16 bits); longer rows are
// read twice, the second time from the L2 cache while it holds them. 4 written for a row.
template <int Tile, int Count, class From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    cross_entropy_kernel(CrossEntropyArguments<From> a, Ids targets) {
  using Steps = CrossEntropySteps<f32>;
  const RowPlace place = row_place<row_tiles[Tile]>();
  const bool exists = place.row < a.rows;
  const std::int32_t target = exists ? targets.values[place.row] : no_target;
  const bool counts = planted<"ignored row counts">(target != no_target, exists);
  const GlobalPointer<const From> from = a.x + place.row * a.stride;
  const Row<row_tiles[Tile], Count, From> row(from, counts ? a.columns : 0, place.lane, a.aligned);
  const f32 largest = planted<"largest not subtracted">(row.template largest<struct LargestLogit>(), 0.0f);
  const f32 sum = row.template sum<struct LogitTerms>([largest](f32 x) { return Steps::term(x, largest); });
  if (!exists || place.lane != 0) return;
  a.losses[place.row] =
      counts ? Steps::loss(sum, to_f32(from[target == no_target ? 0 : target]), largest) : 0.0f;
}

// Bytes moved: each logit read twice, and 4 written for a row.
template <class Types, class From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_cross_entropy_kernel(CrossEntropyArguments<From> a, Ids targets) {
  using Steps = CrossEntropySteps<typename Types::inside>;
  const std::int64_t row = block_index().x;
  const std::int32_t target = targets.values[row];
  if (target == no_target) {
    if (thread_index() == 0) a.losses[row] = 0;
    return;
  }
  const auto value = [&](std::int64_t i) { return to_f32(a.x[row * a.stride + i]); };
  f32 largest = -infinity;
  for (std::int64_t i = thread_index(); i < a.columns; i += narrow_partial_sums)
    largest = maximum(largest, value(i));
  largest = block_max<narrow_partial_sums, struct NarrowLargestLogit>(largest);
  const f32 sum = narrow_block_sum<Types, struct NarrowLogitTerms>(a.columns, [&](std::int64_t i) {
    return planted<"inside ignored">(Steps::term(value(i), largest),
                                     math::exp_of_negative(value(i) - largest));
  });
  if (thread_index() == 0)
    a.losses[row] = planted<"loss's inside ignored">(
        Steps::loss(sum, value(target), largest), CrossEntropySteps<f32>::loss(sum, value(target), largest));
}

// Bytes moved: 4 read for a row.
template <class Types>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_mean_loss_kernel(GlobalPointer<const f32> losses, std::int64_t rows, f32 kept,
                            GlobalPointer<typename Types::result> out) {
  const f32 sum =
      narrow_block_sum<Types, struct NarrowLosses>(rows, [&](std::int64_t i) { return losses[i]; });
  if (thread_index() == 0)
    *out = round_to<typename Types::result, Types::saturate>(with_planted_dtype<"result ignored">(
        planted<"mean's inside ignored">(mean_of_sum<typename Types::inside>(sum, kept), sum / kept)));
}

}  // namespace detail

/// The mean of log(sum e^x) - x[target] over the rows of logits [rows, classes] whose target is not
/// `no_target`, to the one place of `out`. Targets are the host's, and travel with the launches, 512 with
/// each. Of no rows: NaN. A row that holds +inf or NaN, or nothing but -inf, makes it NaN.
template <class Types, class From>
void cross_entropy(DeviceView<const From> logits, std::span<const std::int32_t> targets,
                   DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "cross_entropy takes its operand as given, or widened to f32.");
  constexpr int count = values_at_once<From>;
  const auto rows = static_cast<std::int64_t>(targets.size()), columns = logits.columns();
  const auto kept = static_cast<f32>(rows - std::count(targets.begin(), targets.end(), no_target));
  const StreamScope scope(stream);  // of the losses
  Tensor<f32, Memory> losses(Shape{rows});
  for (std::int64_t first = 0; first < rows; first += detail::Ids::most) {
    const std::int64_t some = min_of<std::int64_t>(rows - first, detail::Ids::most);
    detail::Ids of_launch{};
    std::copy_n(targets.begin() + first, some, of_launch.values);
    const DeviceView<const From> part = columns ? logits.rows_between(first, some) : DeviceView<const From>{};
    const detail::CrossEntropyArguments<From> arguments{
        pointer_to(part),
        part.row_stride(),
        some,
        columns,
        rows_are_aligned<count>(part),
        pointer_to(losses.view().columns_between(first, some))};
    if constexpr (is_narrow<Types>)
      launch("narrow_cross_entropy", detail::narrow_cross_entropy_kernel<Types, From>,
             {{static_cast<int>(some), 1, 1}, narrow_partial_sums}, stream, arguments, of_launch);
    else
      visit_row_tile(columns, count, [&](auto tile) {
        launch("cross_entropy", detail::cross_entropy_kernel<tile, count, From>,
               {blocks_of_rows(row_tiles[tile], some), row_tiles[tile].threads}, stream, arguments,
               of_launch);
      });
  }
  const DeviceView<const f32> all = losses.view();
  if constexpr (is_narrow<Types>)
    launch("narrow_mean_loss", detail::narrow_mean_loss_kernel<Types>, {{1, 1, 1}, narrow_partial_sums},
           stream, pointer_to(all), rows, kept, pointer_to(out));
  else
    detail::sum_all<Types::saturate>(all, kept, out, stream);
}

}  // namespace precast::gpu
