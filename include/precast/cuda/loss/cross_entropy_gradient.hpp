// The gradient of the cross entropy.
#pragma once

#include <cstdint>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/gather/ids.hpp>
#include <precast/cuda/loss/targets.hpp>
#include <precast/cuda/rows/column_sums.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/problem/loss_gradient_steps.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From, class To, class RowCount>
struct CrossEntropyGradientArguments {
  DeviceRows<const From> x;
  DeviceRows<To> out;
  std::int64_t columns;
  f32 dloss;
  RowCount kept;
};

// Bytes moved: each logit read three times, from a cache but for the first where a row fits there, and each
// gradient written once.
template <class Types, class From, class Targets, class RowCount>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    cross_entropy_gradient_kernel(CrossEntropyGradientArguments<From, typename Types::result, RowCount> a,
                                  Targets targets) {
  using To = typename Types::result;
  using Steps = CrossEntropyGradientSteps<typename Types::inside>;
  const std::int64_t row = block_index().x;
  const std::int32_t target = targets.of_row(row);
  const GlobalPointer<const From> x = a.x.row(row);
  const GlobalPointer<To> out = a.out.row(row);
  if (planted<"ignored row counts">(target == no_target, false)) {
    for (std::int64_t i = thread_index(); i < a.columns; i += narrow_partial_sums) out[i] = To{};
    return;
  }
  const f32 largest =
      planted<"largest not subtracted">(largest_in_block<narrow_partial_sums, struct LargestOfGradient>(
                                            a.columns, [&](std::int64_t i) { return to_f32(x[i]); }),
                                        0.0f);
  const auto term = [&](std::int64_t i) {
    return planted<"inside ignored">(Steps::term(to_f32(x[i]), largest),
                                     math::exp_of_negative(to_f32(x[i]) - largest));
  };
  const f32 sum = sum_in_block<Types, struct TermsOfGradient>(a.columns, term);
  const f32 factor = target == not_a_class ? quiet_nan : a.dloss / maximum(a.kept.number(), 1.0f);
  for (std::int64_t i = thread_index(); i < a.columns; i += narrow_partial_sums)
    out[i] = round_to<To, Types::saturate>(
        Steps::gradient(term(i), sum, planted<"target not subtracted">(i == target, false), factor));
}

/// The gradients of rows, with `targets` that are launch arguments or on the device.
template <class Types, class From, class Targets, class RowCount>
void gradients_of_rows(const DeviceView<const From>& logits, const Targets& targets, f32 dloss,
                       const RowCount& kept, const DeviceView<typename Types::result>& out, Stream stream) {
  launch("cross_entropy_gradient", cross_entropy_gradient_kernel<Types, From, Targets, RowCount>,
         {{grid_blocks(out.rows()), 1, 1}, narrow_partial_sums}, stream,
         CrossEntropyGradientArguments<From, typename Types::result, RowCount>{
             .x = logits, .out = out, .columns = out.columns(), .dloss = dloss, .kept = kept},
         targets);
}

}  // namespace detail

/// out = (softmax(logits) - 1 at the target) dloss / rows that count, row by row; zeros where the target is
/// `no_target`. Targets are the host's, and are passed as launch arguments, 512 per launch.
template <class Types, class From>
void cross_entropy_gradient(DeviceView<const From> logits, std::span<const std::int32_t> targets, f32 dloss,
                            DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>,
                "cross_entropy_gradient takes its operand as given, or widened to f32.");
  if (out.elements() == 0) return;
  const auto kept = detail::KnownRowCount::of(targets);
  detail::for_each_launch(targets, [&](std::int64_t first, std::int64_t rows, const detail::Ids& part) {
    detail::gradients_of_rows<Types>(logits.rows_between(first, rows), part, dloss, kept,
                                     out.rows_between(first, rows), stream);
  });
}
/// The same for targets on the device: NaN where one is no class.
template <class Types, class From, IndexInteger Number>
void cross_entropy_gradient(DeviceView<const From> logits, UncheckedTargets<Number, DeviceSpace> targets,
                            f32 dloss, DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>,
                "cross_entropy_gradient takes its operand as given, or widened to f32.");
  if (out.elements() == 0) return;
  const StreamScope scope(stream);  // of the targets
  detail::CheckedTargets checked(targets, logits.columns(), stream);
  detail::gradients_of_rows<Types>(logits, checked.of_rows(), dloss, checked.rows_that_count(), out, stream);
}

}  // namespace precast::gpu
