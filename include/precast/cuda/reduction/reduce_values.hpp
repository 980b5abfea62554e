// Sums and means of values: in f32, or in the dtypes of the op table's row.
#pragma once

#include <cstdint>
#include <utility>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/reduction/counted_values.hpp>
#include <precast/cuda/reduction/sum_rows.hpp>
#include <precast/cuda/rows/narrow_sum.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/reduction_kernels.hpp>
#include <precast/problem/reduction_steps.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

// Bytes moved: each value read once and 4 written for a group, the minimum. One order of additions: slow.
template <class Types, class From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1)
    narrow_reduce_kernel(CountedValues<From> x, std::int64_t length, bool means,
                         SumOutput<typename Types::result> out) {
  const std::int64_t group = block_index().x;
  const f32 sum = narrow_block_sum<Types, struct NarrowSummed>(
      length, [&](std::int64_t i) { return x[group * length + i]; });
  if (thread_index() != 0) return;
  const f32 mean = planted<"mean's inside ignored">(mean_of_sum<typename Types::inside>(sum, out.divisor),
                                                    sum / out.divisor);
  *out.at(group) = round_to<typename Types::result, Types::saturate>(
      with_planted_dtype<"result ignored">(means ? mean : sum));
}

}  // namespace detail

/// The sum, or the mean, of every `length` values of x, counted row by row: as many results as `out` has
/// elements. Without values, sums are 0 and means NaN. Values that are not contiguous are reduced row by
/// row, or all to one.
template <class Types, class From>
void reduce_values(DeviceView<const From> x, std::int64_t length, Reduce reduce,
                   DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "reduce_values takes its operand as given, or widened to f32.");
  const std::int64_t groups = out.elements();
  const f32 divisor = reduce == Reduce::mean ? static_cast<f32>(length) : 1.0f;
  if (groups == 0) return;
  if constexpr (is_narrow<Types>) {
    const detail::SumOutput<typename Types::result> output{pointer_to(out), out.columns(), out.row_stride(),
                                                           divisor};
    launch("narrow_reduce", detail::narrow_reduce_kernel<Types, From>,
           {{grid_blocks(groups), 1, 1}, narrow_partial_sums}, stream, detail::counted_values(x), length,
           reduce == Reduce::mean, output);
  } else if (x.contiguous()) {
    detail::sum_rows<Types::saturate>(x.reshaped(Shape{groups, length}), groups, divisor, out, stream);
  } else if (length == x.columns()) {
    detail::sum_rows<Types::saturate>(x, groups, divisor, out, stream);
  } else {
    const StreamScope scope(stream);  // of the rows' sums
    Tensor<f32, Memory> rows(Shape{x.rows()});
    detail::sum_rows<false>(x, x.rows(), 1.0f, rows.view(), stream);
    detail::sum_all<Types::saturate>(std::as_const(rows).view(), divisor, out, stream);
  }
}

}  // namespace precast::gpu
