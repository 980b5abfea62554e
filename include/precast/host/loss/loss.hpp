// Losses: each row's or value's loss in f32, or in the op table's dtypes, and their mean, summed as in
// reduction.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <precast/host/reduction/reduction.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/softmax/softmax.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/problem/reduction_steps.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// The mean of (x - y)^2 over all values, into the one value of `out`. The mean of none is NaN.
template <class Types, class X, class Y>
void mean_squared_error(HostView<const X> x, HostView<const Y> y, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "mean_squared_error takes its operands as given, or widened to f32.");
  const auto store = [&](std::int64_t, f32 sum) {
    out.data()[0] = convert_value<typename Types::result, Types::saturate>(
        mean_of_sum<typename Types::inside>(sum, static_cast<f32>(x.elements())));
  };
  if constexpr (is_narrow<Types>)
    detail::narrow_sum_groups<Types>(
        1, x.elements(),
        [&](std::int64_t place) {
          return squared_difference<typename Types::inside>(convert_value<f32>(detail::value_at(x, place)),
                                                            convert_value<f32>(detail::value_at(y, place)));
        },
        store);
  else
    detail::sum_groups(
        1, x.elements(),
        [&](std::int64_t first, std::int64_t count, f32* scratch) -> const f32* {
          std::array<f32, static_cast<std::size_t>(values_per_chunk)> others;
          const f32* const a = detail::values_in_f32(x, first, count, scratch);
          const f32* const b = detail::values_in_f32(y, first, count, others.data());
          for (std::int64_t i = 0; i < count; ++i)
            scratch[i] = squared_difference<typename Types::inside>(a[i], b[i]);
          return scratch;
        },
        store);
}

namespace detail {

/// The cross entropy of a row.
template <class Types>
f32 cross_entropy_of(std::span<const f32> row, std::int32_t target) {
  using Steps = CrossEntropySteps<typename Types::inside>;
  const f32* const x = row.data();
  const f32 largest = largest_of(row);
  const auto count = static_cast<std::int64_t>(row.size());
  const auto term = [x, largest](std::int64_t i) { return Steps::term(x[i], largest); };
  f32 sum = 0;
  if constexpr (is_narrow<Types>)
    sum = narrow_sum<Types>(count, term);
  else
    sum = sum_of(count, term);
  const f32 of_target = target == not_a_class ? std::numeric_limits<f32>::quiet_NaN() : x[target];
  return Steps::loss(sum, of_target, largest);
}

template <IndexInteger Number>
std::vector<std::int32_t> checked_targets(const UncheckedTargets<Number, HostSpace>& targets,
                                          std::int64_t classes) {
  std::vector<std::int32_t> checked;
  checked.reserve(static_cast<std::size_t>(targets.numbers.count));
  for (std::int64_t i = 0; i < targets.numbers.count; ++i)
    checked.push_back(targets.checked(targets.numbers.data[i], targets.ignored, classes));
  return checked;
}

}  // namespace detail

/// The mean of log(sum e^x) - x[target] over the rows of logits [rows, classes] whose target is not
/// `no_target`, into the one value of `out`. It is NaN for no rows, where a row holds +inf or NaN, or
/// nothing but -inf, and where a target is `not_a_class`.
template <class Types, class From>
void cross_entropy(HostView<const From> logits, std::span<const std::int32_t> targets,
                   HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "cross_entropy takes its operand as given, or widened to f32.");
  const auto rows = static_cast<std::int64_t>(targets.size()), columns = logits.columns();
  HostTensor<f32> losses(Shape{rows});
  parallel_for_rows(rows, columns, [&](std::int64_t first, std::int64_t end) {
    HostTensor<f32> scratch(Shape{columns});
    for (std::int64_t r = first; r < end; ++r) {
      const std::int32_t target = targets[static_cast<std::size_t>(r)];
      losses.data()[r] = target == no_target ? 0.0f
                                             : detail::cross_entropy_of<Types>(
                                                   row_in_f32(logits.row(r), scratch.data()), target);
    }
  });
  const f32 kept = rows_that_count(targets);
  const auto store = [&](std::int64_t, f32 sum) {
    out.data()[0] = convert_value<typename Types::result, Types::saturate>(
        mean_of_sum<typename Types::inside>(sum, kept));
  };
  const f32* const all = losses.data();
  if constexpr (is_narrow<Types>)
    detail::narrow_sum_groups<Types>(
        1, rows, [all](std::int64_t r) { return all[r]; }, store);
  else
    detail::sum_groups(
        1, rows, [all](std::int64_t first, std::int64_t, f32*) { return all + first; }, store);
}
/// The same for targets that are not checked beforehand.
template <class Types, class From, IndexInteger Number>
void cross_entropy(HostView<const From> logits, UncheckedTargets<Number, HostSpace> targets,
                   HostView<typename Types::result> out) {
  const auto checked = detail::checked_targets(targets, logits.columns());
  cross_entropy<Types>(logits, std::span<const std::int32_t>(checked), out);
}

}  // namespace precast::host
