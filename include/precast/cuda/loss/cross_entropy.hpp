// The cross entropy of logits: each row's loss, then the mean of the losses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/gather/ids.hpp>
#include <precast/cuda/loss/targets.hpp>
#include <precast/cuda/reduction/sum_rows.hpp>
#include <precast/cuda/rows/narrow_sum.hpp>
#include <precast/cuda/rows/row.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/problem/reduction_steps.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From>
struct CrossEntropyArguments {
  DeviceRows<const From> x;
  std::int64_t rows, columns;
  bool aligned;
  GlobalPointer<f32> losses;
};

// Bytes moved: each logit read once, the minimum, up to 8192 classes (f32; 16384 of 16 bits); longer rows are
// read twice, the second time from the L2 cache while it holds them. 4 written for a row.
template <int Tile, int Count, class From, class Targets>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    cross_entropy_kernel(CrossEntropyArguments<From> a, Targets targets) {
  using Steps = CrossEntropySteps<f32>;
  const RowPlace place = row_place<row_tiles[Tile]>();
  const bool exists = place.row < a.rows;
  const std::int32_t target = exists ? targets.of_row(place.row) : no_target;
  const bool counts = planted<"ignored row counts">(target != no_target, exists);
  const GlobalPointer<const From> from = a.x.row(place.row);
  const Row<row_tiles[Tile], Count, From> row(from, counts ? a.columns : 0, place.lane, a.aligned);
  const f32 largest = planted<"largest not subtracted">(row.template largest<struct LargestLogit>(), 0.0f);
  const f32 sum = row.template sum<struct LogitTerms>([largest](f32 x) { return Steps::term(x, largest); });
  if (!exists || place.lane != 0) return;
  a.losses[place.row] = counts ? Steps::loss(sum, logit_of(from, target), largest) : 0.0f;
}

// Bytes moved: each logit read twice, and 4 written for a row.
template <class Types, class From, class Targets>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_cross_entropy_kernel(CrossEntropyArguments<From> a, Targets targets) {
  using Steps = CrossEntropySteps<typename Types::inside>;
  const std::int64_t row = block_index().x;
  const std::int32_t target = targets.of_row(row);
  if (target == no_target) {
    if (thread_index() == 0) a.losses[row] = 0;
    return;
  }
  const GlobalPointer<const From> x = a.x.row(row);
  const f32 largest = largest_in_block<narrow_partial_sums, struct NarrowLargestLogit>(
      a.columns, [&](std::int64_t i) { return to_f32(x[i]); });
  const f32 sum = narrow_block_sum<Types, struct NarrowLogitTerms>(a.columns, [&](std::int64_t i) {
    return planted<"inside ignored">(Steps::term(to_f32(x[i]), largest),
                                     math::exp_of_negative(to_f32(x[i]) - largest));
  });
  if (thread_index() == 0)
    a.losses[row] =
        planted<"loss's inside ignored">(Steps::loss(sum, logit_of(x, target), largest),
                                         CrossEntropySteps<f32>::loss(sum, logit_of(x, target), largest));
}

// Bytes moved: 4 read for a row.
template <class Types, class RowCount>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_mean_loss_kernel(GlobalPointer<const f32> losses, std::int64_t rows, RowCount kept,
                            GlobalPointer<typename Types::result> out) {
  const f32 sum =
      narrow_block_sum<Types, struct NarrowLosses>(rows, [&](std::int64_t i) { return losses[i]; });
  if (thread_index() == 0)
    *out = round_to<typename Types::result, Types::saturate>(
        with_planted_dtype<"result ignored">(planted<"mean's inside ignored">(
            mean_of_sum<typename Types::inside>(sum, kept.number()), sum / kept.number())));
}

// Bytes moved: 8 read.
template <class Types>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(32, 1)
    mean_of_total_kernel(GlobalPointer<const f32> total, RowCountOnDevice kept,
                         GlobalPointer<typename Types::result> out) {
  if (thread_index() == 0)
    *out = round_to<typename Types::result, Types::saturate>(
        with_planted_dtype<"result ignored">(planted<"sum not divided">(*total / kept.number(), *total)));
}

/// The losses of rows, with `targets` that are launch arguments or on the device.
template <class Types, class From, class Targets>
void losses_of_rows(const DeviceView<const From>& logits, const Targets& targets,
                    const DeviceView<f32>& losses, Stream stream) {
  constexpr int count = values_at_once<From>;
  const std::int64_t rows = losses.elements(), columns = logits.columns();
  const CrossEntropyArguments<From> arguments{.x = logits,
                                              .rows = rows,
                                              .columns = columns,
                                              .aligned = rows_are_aligned<count>(logits),
                                              .losses = pointer_to(losses)};
  if constexpr (is_narrow<Types>)
    launch("narrow_cross_entropy", narrow_cross_entropy_kernel<Types, From, Targets>,
           {{grid_blocks(rows), 1, 1}, narrow_partial_sums}, stream, arguments, targets);
  else
    visit_row_tile(columns, count, [&](auto tile) {
      launch("cross_entropy", cross_entropy_kernel<tile, count, From, Targets>,
             {blocks_of_rows(row_tiles[tile], rows), row_tiles[tile].threads}, stream, arguments, targets);
    });
}

/// The sum of losses divided by the number of rows that count.
template <class Types>
void divide_sum(const DeviceView<const f32>& losses, const KnownRowCount& kept,
                const DeviceView<typename Types::result>& out, Stream stream) {
  sum_all<Types::saturate>(losses, kept.known, out, stream);
}
template <class Types>
void divide_sum(const DeviceView<const f32>& losses, const RowCountOnDevice& kept,
                const DeviceView<typename Types::result>& out, Stream stream) {
  Tensor<f32, Memory> total{Shape{}};
  sum_all<false>(losses, 1.0f, total.view(), stream);
  launch("mean_of_total", mean_of_total_kernel<Types>, {{1, 1, 1}, 32}, stream,
         pointer_to(std::as_const(total).view()), kept, pointer_to(out));
}

/// The mean of losses over the rows that count.
template <class Types, class RowCount>
void mean_of_losses(const DeviceView<const f32>& losses, const RowCount& kept,
                    const DeviceView<typename Types::result>& out, Stream stream) {
  if constexpr (is_narrow<Types>)
    launch("narrow_mean_loss", narrow_mean_loss_kernel<Types, RowCount>, {{1, 1, 1}, narrow_partial_sums},
           stream, pointer_to(losses), losses.elements(), kept, pointer_to(out));
  else
    divide_sum<Types>(losses, kept, out, stream);
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
  const StreamScope scope(stream);  // of the losses
  Tensor<f32, Memory> losses(Shape{static_cast<std::int64_t>(targets.size())});
  detail::for_each_launch(targets, [&](std::int64_t first, std::int64_t rows, const detail::Ids& part) {
    // Rows of no classes are none, and may all be left out.
    detail::losses_of_rows<Types>(logits.columns() ? logits.rows_between(first, rows) : logits, part,
                                  losses.view().columns_between(first, rows), stream);
  });
  detail::mean_of_losses<Types>(std::as_const(losses).view(), detail::KnownRowCount::of(targets), out,
                                stream);
}
/// The same for targets on the device: one that is no class makes it NaN.
template <class Types, class From, IndexInteger Number>
void cross_entropy(DeviceView<const From> logits, UncheckedTargets<Number, DeviceSpace> targets,
                   DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "cross_entropy takes its operand as given, or widened to f32.");
  const StreamScope scope(stream);  // of the losses
  detail::CheckedTargets checked(targets, logits.columns(), stream);
  Tensor<f32, Memory> losses(Shape{targets.numbers.count});
  if (losses.elements() > 0) detail::losses_of_rows<Types>(logits, checked.of_rows(), losses.view(), stream);
  detail::mean_of_losses<Types>(std::as_const(losses).view(), checked.rows_that_count(), out, stream);
}

}  // namespace precast::gpu
