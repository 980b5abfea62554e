// Softmax with sums and intermediates narrower than f32, a block to a row.
#pragma once

#include <cstdint>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/norm/narrow_sum.hpp>

namespace precast::gpu::detail {

// Bytes moved: each value read three times and written once.
template <class Types, class From>
PRECAST_KERNEL PRECAST_LAUNCH_BOUNDS(narrow_partial_sums, 1) void narrow_softmax_kernel(
    GlobalPointer<const From> x, std::int64_t x_stride, GlobalPointer<typename Types::result> out,
    std::int64_t out_stride, std::int64_t columns) {
  const std::int64_t row = block_index().x;
  const auto value = [&](std::int64_t i) { return to_f32(x[row * x_stride + i]); };
  const auto largest_of_threads = static_shared<f32, narrow_partial_sums, struct NarrowLargest>();
  f32 largest = -infinity;
  for (std::int64_t i = thread_index(); i < columns; i += narrow_partial_sums)
    largest = maximum(largest, value(i));
  largest_of_threads[thread_index()] = largest;
  sync_block();
  for (int i = 0; i < narrow_partial_sums; ++i) largest = maximum(largest, largest_of_threads[i]);
  const auto term = [&](std::int64_t i) {
    const f32 difference = value(i) - largest;
    return planted<"inside ignored">(NarrowSoftmax<Types>::term(value(i), largest),
                                     math::exp_of_negative(difference));
  };
  const f32 sum = narrow_block_sum<Types, struct NarrowTerms>(columns, term);
  for (std::int64_t i = thread_index(); i < columns; i += narrow_partial_sums)
    out[row * out_stride + i] = round_to<typename Types::result, Types::saturate>(term(i) / sum);
}

template <class Types, class From>
void narrow_softmax(DeviceView<const From> x, DeviceView<typename Types::result> out, Stream stream) {
  launch("narrow_softmax", narrow_softmax_kernel<Types, From>,
         {{static_cast<int>(x.rows()), 1, 1}, narrow_partial_sums}, stream, pointer_to(x), x.row_stride(),
         pointer_to(out), out.row_stride(), x.columns());
}

}  // namespace precast::gpu::detail
