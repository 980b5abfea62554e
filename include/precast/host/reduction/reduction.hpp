// Sums and means of values: in f32 with an error independent of their number, or in the row's dtypes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/problem/reduction_kernels.hpp>
#include <precast/problem/reduction_steps.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// One value of a view, by its row-major index.
template <class T>
T& value_at(const HostView<T>& view, std::int64_t place) {
  if (view.row_stride() == view.columns()) return view.data()[place];
  return view.data()[place / view.columns() * view.row_stride() + place % view.columns()];
}

/// Values [first, first + count) of a view, in row-major order, as f32: in place if possible, else in
/// `scratch`.
template <class From>
const f32* values_in_f32(HostView<const From> x, std::int64_t first, std::int64_t count, f32* scratch) {
  const auto run = [&](std::int64_t offset, std::int64_t some) {
    return std::span<const From>(x.data() + offset, static_cast<std::size_t>(some));
  };
  if (x.contiguous()) return row_in_f32(run(first, count), scratch).data();
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t row = (first + done) / x.columns(), column = (first + done) % x.columns(),
                       some = std::min(count - done, x.columns() - column);
    convert_row<f32>(run(row * x.row_stride() + column, some),
                     std::span<f32>(scratch + done, static_cast<std::size_t>(some)));
    done += some;
  }
  return scratch;
}

/// The pairwise sum of values.
inline f32 sum_by_halves(std::span<const f32> values) {
  if (values.size() < 2) return values.empty() ? 0.0f : values[0];
  const std::size_t half = values.size() / 2;
  return sum_by_halves(values.first(half)) + sum_by_halves(values.subspan(half));
}

/// Calls `store(group, sum)` with the sum of each group of `length` terms. `terms(first, count, scratch)`
/// has terms [first, first + count) of all groups, at most values_per_chunk; it may write them to
/// `scratch`. The sums of chunks are added pairwise: a term takes part in at most 70 additions, plus one
/// for each doubling of the chunks.
template <class Terms, class Store>
void sum_groups(std::int64_t groups, std::int64_t length, Terms&& terms, Store&& store) {
  const std::int64_t chunks = std::max<std::int64_t>(1, ceil_divide(length, values_per_chunk));
  const std::int64_t chunks_per_task =
      16 * values_per_chunk / std::clamp<std::int64_t>(length, 1, values_per_chunk);
  HostTensor<f32> partial(Shape{chunks > 1 ? groups : 0, chunks});
  parallel_for(ceil_divide(groups * chunks, chunks_per_task), [&](std::int64_t task) {
    std::array<f32, static_cast<std::size_t>(values_per_chunk)> scratch;
    const auto sum_of_terms = [&](std::int64_t first, std::int64_t count) {
      const f32* const values = terms(first, count, scratch.data());
      return sum_of(count, [values](std::int64_t k) { return values[k]; });
    };
    const std::int64_t first = task * chunks_per_task,
                       end = std::min(groups * chunks, first + chunks_per_task);
    if (chunks == 1) {  // avoids a division for each of many short groups
      for (std::int64_t g = first; g < end; ++g) store(g, sum_of_terms(g * length, length));
      return;
    }
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t begin = i % chunks * values_per_chunk;
      partial.data()[i] =
          sum_of_terms(i / chunks * length + begin, std::min(values_per_chunk, length - begin));
    }
  });
  if (chunks > 1 && !DryRun::active())
    for (std::int64_t g = 0; g < groups; ++g) store(g, sum_by_halves(partial.view().row(g)));
}

/// The same where the row keeps sums or intermediates narrower than f32, of `term(place)`.
template <class Types, class Term, class Store>
void narrow_sum_groups(std::int64_t groups, std::int64_t length, Term&& term, Store&& store) {
  parallel_for(groups, [&](std::int64_t g) {
    store(g, narrow_sum<Types>(length, [&](std::int64_t i) { return term(g * length + i); }));
  });
}

}  // namespace detail

/// The sum, or the mean, of every `length` values of x in row-major order, one for each value of `out`.
/// Without values the sum is 0, the mean NaN.
template <class Types, class From>
void reduce_values(HostView<const From> x, std::int64_t length, Reduce reduce,
                   HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "reduce_values takes its operand as given, or widened to f32.");
  const auto store = [&](std::int64_t place, f32 sum) {
    const f32 result =
        reduce == Reduce::mean ? mean_of_sum<typename Types::inside>(sum, static_cast<f32>(length)) : sum;
    detail::value_at(out, place) = convert_value<typename Types::result, Types::saturate>(result);
  };
  if constexpr (is_narrow<Types>)
    detail::narrow_sum_groups<Types>(
        out.elements(), length,
        [&](std::int64_t place) { return convert_value<f32>(detail::value_at(x, place)); }, store);
  else
    detail::sum_groups(
        out.elements(), length,
        [&](std::int64_t first, std::int64_t count, f32* scratch) {
          return detail::values_in_f32(x, first, count, scratch);
        },
        store);
}

}  // namespace precast::host
