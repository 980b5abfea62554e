// The gradient of the cross entropy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include <precast/host/loss/loss.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/problem/loss_gradient_steps.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// out = (softmax(logits) - onehot(target)) dloss / rows that count, row by row; zeros where the target is
/// `no_target`, NaN where it is `not_a_class`.
template <class Types, class From>
void cross_entropy_gradient(HostView<const From> logits, std::span<const std::int32_t> targets, f32 dloss,
                            HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>,
                "cross_entropy_gradient takes its operand as given, or widened to f32.");
  using Steps = CrossEntropyGradientSteps<typename Types::inside>;
  const f32 of_each = dloss / std::max(rows_that_count(targets), 1.0f);
  for_each_row<Types>(logits, out, [&](std::int64_t r, std::span<const f32> row, std::span<f32> computed) {
    const std::int32_t target = targets[static_cast<std::size_t>(r)];
    if (target == no_target) return std::fill(computed.begin(), computed.end(), 0.0f);
    const f32 factor = target == not_a_class ? std::numeric_limits<f32>::quiet_NaN() : of_each;
    const f32 largest = largest_of(row);
    const f32* const x = row.data();
    f32* const to = computed.data();
    const auto count = static_cast<std::int64_t>(row.size());
    f32 sum = 0;
    if constexpr (is_narrow<Types>) {
      sum = detail::narrow_sum<Types>(count, [&](std::int64_t i) { return Steps::term(x[i], largest); });
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = Steps::gradient(Steps::term(x[i], largest), sum, i == target, factor);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = Steps::term(x[i], largest);
      sum = sum_of(count, [to](std::int64_t i) { return to[i]; });
      for (std::int64_t i = 0; i < count; ++i) to[i] = Steps::gradient(to[i], sum, i == target, factor);
    }
  });
}
/// The same for targets that are not checked beforehand.
template <class Types, class From, IndexInteger Number>
void cross_entropy_gradient(HostView<const From> logits, UncheckedTargets<Number, HostSpace> targets,
                            f32 dloss, HostView<typename Types::result> out) {
  const auto checked = detail::checked_targets(targets, logits.columns());
  cross_entropy_gradient<Types>(logits, std::span<const std::int32_t>(checked), dloss, out);
}

}  // namespace precast::host
